// Rules about the file that a change meets: its other names, its mode, its size, and links.
import { chmodSync, chownSync, linkSync, rmSync, symlinkSync } from 'node:fs'
import { nobody } from '../../fixtures/users.ts'
import { by, why, type Check, type Rule } from './rule.ts'
import { readied, standing, textBefore } from './standing.ts'
import { replaced, type Case } from './way.ts'
import { smallBytes } from './world.ts'

const native = 'The tool writes by itself: the hook refuses for leases and for what its session has not seen, only.'
const makes = 'It makes a file: there is none whose bytes could be refused.'
const name = 'It takes the name and leaves the bytes as they are.'

/** An undo names what stands in its way as a conflict. */
async function refused(c: Case, code: string, words: string): Promise<void> {
  const { answer } = await c.makes(c.way.kind === 'undo' ? 'contention' : code)
  c.t.match(JSON.stringify(answer), words)
  if (c.way.kind === 'undo') c.t.match(answer, { conflicts: [{ path: c.path, reason: 'refused' }] })
}

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

function lock(c: Case): void {
  const path = c.world.tree.path(c.path)
  if (process.getuid?.() === 0) chownSync(path, nobody, nobody)
  chmodSync(path, 0o444)
}

const refusesReadOnly: Check = async (c) => {
  await readied(c)
  lock(c)
  await refused(c, 'ACCESS_DENIED', 'read-only')
  c.has(c.text)
}

const takesReadOnly: Check = async (c) => {
  await readied(c)
  lock(c)
  await c.makes('ok')
  c.hasAfter(c.text)
}

const tooLarge: Check = async (c) => {
  await readied(c)
  const same = standing(c)
  await c.makes('FILE_TOO_LARGE', { words: 'x'.repeat(smallBytes) })
  same()
}

/** What was removed comes back beside what another agent has added since. */
const growsByBoth: Check = async (c) => {
  c.write(replaced(c.text, { words: 'x'.repeat(smallBytes - 200) }))
  await c.change('zed', c.path, () => c.text)
  await c.change(c.bob, c.path, (now) => replaced(now, { line: 2, words: 'y'.repeat(smallBytes - 200) }))
  const same = standing(c)
  await refused(c, 'FILE_TOO_LARGE', 'crud.max_file_size_bytes')
  same()
}

/** Made by another program. */
function grow(c: Case): string {
  const large = c.text + 'x'.repeat(smallBytes)
  c.write(large)
  return large
}

const refusesTooLarge: Check = async (c) => {
  await readied(c)
  const large = grow(c)
  await c.makes(c.way.kind === 'undo' ? 'contention' : 'FILE_TOO_LARGE')
  c.has(large)
}

const takesTooLarge: Check = async (c) => {
  await readied(c)
  const large = grow(c)
  await c.makes('FILE_TOO_LARGE')
  c.has(large)
  await c.makes('ok', { expected: null })
  c.hasAfter(large)
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

const staysInside: Check = async (c) => {
  await c.way.prepare(c)
  rmSync(c.world.tree.path(c.path), { force: true })
  symlinkSync(outside, c.world.tree.path(c.path))
  await c.makes('PATH_OUTSIDE_BASE')
  c.t.ok(c.isLink())
}

export const fileRules: readonly Rule[] = [
  {
    title: 'with crud.hardlinks refuse a file with two names is not written',
    world: 'refusing',
    cells: {
      content: by(refusesLinks),
      create: why(makes),
      remove: by(leavesSecondName),
      move: by(leavesSecondName),
      undo: by(refusesLinks),
      native: why(native)
    }
  },
  {
    title: 'links_broken counts the names that keep the old bytes',
    cells: {
      content: by(countsLinks),
      create: why(makes),
      remove: why(name),
      move: why(name),
      undo: by(countsLinks),
      native: why('The tool writes into the file, so that all of its names have the new bytes.')
    }
  },
  {
    title: 'a file that this user may not write stays as it is',
    world: 'humble',
    cells: {
      content: by(refusesReadOnly),
      create: why(makes),
      remove: by(takesReadOnly),
      move: by(takesReadOnly),
      undo: by(refusesReadOnly),
      native: why(native)
    }
  },
  {
    title: 'what would be larger than crud.max_file_size_bytes is not written',
    world: 'small',
    cells: {
      content: by(tooLarge),
      create: by(tooLarge),
      remove: why(name),
      move: why(name),
      undo: by(growsByBoth),
      native: why(native)
    },
    special: { async_restore: { reason: 'It gives back what was within the limit.' } }
  },
  {
    title: 'a file that is larger than that is not read, and so not written',
    world: 'small',
    cells: {
      content: by(refusesTooLarge),
      create: why(makes),
      remove: by(takesTooLarge),
      move: by(takesTooLarge),
      undo: by(refusesTooLarge),
      native: why('A file that the server cannot read passes, as the page on native tools says.')
    }
  },
  {
    title: 'content is changed behind a link, and names are those of the link itself',
    cells: {
      content: by(changesTarget),
      create: by(changesTarget),
      remove: by(takesLink),
      move: by(takesLink),
      undo: why('It goes by the names in the history, which are those of the files.'),
      native: by(changesTarget)
    }
  },
  {
    title: 'a link that leads out of the roots is not followed',
    cells: {
      content: by(staysInside),
      create: by(staysInside),
      remove: by(staysInside),
      move: by(staysInside),
      undo: why('It goes by the names in the history, which are those of the files.'),
      native: why('The hook passes what this server does not serve.')
    }
  }
]
