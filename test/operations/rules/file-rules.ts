// Rules about the file that a change meets: its mode, its size, its kind, and whether it is there at all.
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { nobody } from '../../fixtures/users.ts'
import { by, why, type Check, type Rule } from './rule.ts'
import { readied, reasons, refused, standing } from './standing.ts'
import { hashOfBytes, replaced, type Case, type Kind } from './way.ts'
import { smallBytes } from './world.ts'

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

const isProtected: Check = async (c) => {
  await readied(c)
  const same = standing(c)
  await c.makes('ACCESS_DENIED')
  same()
}

const codes: Readonly<Partial<Record<Kind, string>>> = { undo: 'ok', native: 'refused' }

/** It was there when the change was planned. */
const isGone: Check = async (c) => {
  await readied(c)
  await c.must('zed', 'async_delete', { path: c.path })
  const { answer } = await c.makes(codes[c.way.kind] ?? 'FILE_NOT_FOUND', { expected: hashOfBytes(c.text) })
  if (c.way.kind === 'undo') c.t.match(answer, { undone: 0, files: [], message: String })
  c.has(undefined)
}

const inTheWay: Check = async (c) => {
  await readied(c)
  rmSync(c.world.tree.path(c.path), { force: true })
  mkdirSync(c.world.tree.path(c.path))
  const { answer } = await c.makes(c.way.kind === 'create' ? 'FILE_EXISTS' : (codes[c.way.kind] ?? 'NOT_A_FILE'))
  if (c.way.kind === 'undo') c.t.match(answer, { undone: 0, files: [], message: String })
  c.t.same(readdirSync(c.world.tree.path(c.path)), [])
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

export const fileRules: readonly Rule[] = [
  {
    title: 'a file that this user may not write stays as it is',
    world: 'humble',
    cells: {
      content: by(refusesReadOnly),
      create: why(reasons.makes),
      remove: by(takesReadOnly),
      move: by(takesReadOnly),
      undo: by(refusesReadOnly),
      native: why(reasons.native)
    }
  },
  {
    title: 'what crud.protected names is not changed',
    world: 'guarded',
    cells: {
      content: by(isProtected),
      create: by(isProtected),
      remove: by(isProtected),
      move: by(isProtected),
      undo: by(isProtected),
      native: why(reasons.native)
    }
  },
  {
    title: 'a file that is gone is not made again by a change of it',
    cells: {
      content: by(isGone),
      create: why('It makes a file where none is.'),
      remove: by(isGone),
      move: by(isGone),
      undo: by(isGone),
      native: by(isGone)
    },
    special: { 'hook: Edit': { reason: 'The tool itself finds that there is nothing to replace.' } }
  },
  {
    title: 'a folder in the place of the file stays',
    cells: {
      content: by(inTheWay),
      create: by(inTheWay),
      remove: by(inTheWay),
      move: by(inTheWay),
      undo: by(inTheWay),
      native: why('The tool itself finds the folder there.')
    }
  },
  {
    title: 'what would be larger than crud.max_file_size_bytes is not written',
    world: 'small',
    cells: {
      content: by(tooLarge),
      create: by(tooLarge),
      remove: why(reasons.name),
      move: why(reasons.name),
      undo: by(growsByBoth),
      native: why(reasons.native)
    },
    special: { async_restore: { reason: 'It gives back what was within the limit.' } }
  },
  {
    title: 'a file that is larger than that is not read, and so not written',
    world: 'small',
    cells: {
      content: by(refusesTooLarge),
      create: why(reasons.makes),
      remove: by(takesTooLarge),
      move: by(takesTooLarge),
      undo: by(refusesTooLarge),
      native: why('A file that the server cannot read passes, as the page on native tools says.')
    }
  }
]
