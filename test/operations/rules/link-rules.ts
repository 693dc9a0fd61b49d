// Rules about the other names of a file: hard links, and symbolic ones.
import { linkSync, rmSync, symlinkSync } from 'node:fs'
import { cannotLink } from '../../fixtures/links.ts'
import { by, why, type Check, type Rule } from './rule.ts'
import { readied, reasons, refused, textBefore } from './standing.ts'
import type { Case } from './way.ts'

async function withSecondName(c: Case): Promise<string> {
  await readied(c)
  const second = `${c.path}.second`
  linkSync(c.world.tree.path(c.path), c.world.tree.path(second))
  return second
}

const refusesLinks: Check = async (c) => {
  const second = await withSecondName(c)
  await refused(c, 'ACCESS_DENIED', 'crud.hardlinks')
  c.has(c.text)
  c.has(c.text, second)
}

const leavesSecondName: Check = async (c) => {
  const second = await withSecondName(c)
  await c.makes('ok')
  c.hasAfter(c.text)
  c.has(c.text, second)
}

const countsLinks: Check = async (c) => {
  const second = await withSecondName(c)
  const { item } = await c.makes('ok')
  c.hasAfter(c.text)
  c.has(c.text, second)
  c.t.equal(item['links_broken'], 1)
}

/** The file moves to another name, and a link takes its place. */
async function behindLink(c: Case): Promise<string> {
  await c.way.prepare(c)
  const target = `${c.path}.target`
  if (c.way.kind !== 'create') await c.must('zed', 'async_rename', { old_path: c.path, new_path: target })
  symlinkSync(target, c.world.tree.path(c.path))
  if (c.way.kind !== 'create') await c.seen(c.ann)
  return target
}

const changesTarget: Check = async (c) => {
  const target = await behindLink(c)
  await c.makes('ok')
  c.t.ok(c.isLink(), 'the link stays')
  c.has(c.way.after(textBefore(c), {}), target)
}

const takesLink: Check = async (c) => {
  const target = await behindLink(c)
  await c.makes('ok')
  c.t.notOk(c.isLink())
  c.has(c.text, target)
  if (c.way.kind === 'move') c.t.ok(c.isLink(c.other))
}

const outside = '/etc/hostname'

const byLink = (check: Check) => (cannotLink ? why(cannotLink) : by(check))

const staysInside: Check = async (c) => {
  await c.way.prepare(c)
  rmSync(c.world.tree.path(c.path), { force: true })
  symlinkSync(outside, c.world.tree.path(c.path))
  await c.makes('PATH_OUTSIDE_BASE')
  c.t.ok(c.isLink())
}

export const linkRules: readonly Rule[] = [
  {
    title: 'with crud.hardlinks refuse a file with two names is not written',
    world: 'refusing',
    cells: {
      content: by(refusesLinks),
      create: why(reasons.makes),
      remove: by(leavesSecondName),
      move: by(leavesSecondName),
      undo: by(refusesLinks),
      native: why(reasons.native)
    }
  },
  {
    title: 'links_broken counts the names that keep the old bytes',
    cells: {
      content: by(countsLinks),
      create: why(reasons.makes),
      remove: why(reasons.name),
      move: why(reasons.name),
      undo: by(countsLinks),
      native: why('The tool writes into the file, so that all of its names have the new bytes.')
    }
  },
  {
    title: 'content is changed behind a link, and names are those of the link itself',
    cells: {
      content: byLink(changesTarget),
      create: byLink(changesTarget),
      remove: byLink(takesLink),
      move: byLink(takesLink),
      undo: why('It goes by the names in the history, which are those of the files.'),
      native: byLink(changesTarget)
    }
  },
  {
    title: 'a link that leads out of the roots is not followed',
    cells: {
      content: byLink(staysInside),
      create: byLink(staysInside),
      remove: byLink(staysInside),
      move: byLink(staysInside),
      undo: why('It goes by the names in the history, which are those of the files.'),
      native: why('The hook passes what this server does not serve.')
    }
  }
]
