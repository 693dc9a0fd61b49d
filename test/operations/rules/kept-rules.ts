// Rules about what can be had back: repeats by name, bytes that are kept or lost, modes, undo and redo.
import { chmodSync, statSync } from 'node:fs'
import type { Answer } from '../../fixtures/clients.ts'
import { by, why, type Check, type Rule } from './rule.ts'
import { readied, targetOf, textBefore } from './standing.ts'
import { hashOfBytes, type Case } from './way.ts'

const withoutReplayed = (answer: Answer) =>
  JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'replayed' ? undefined : value))) as unknown

const isMadeOnce: Check = async (c) => {
  await c.way.prepare(c)
  const request = `once-${c.path}`
  const first = await c.makes('ok', { request })
  const made = c.read(c.path)
  c.hasAfter(textBefore(c))
  const { answer } = await c.makes('ok', { request })
  c.t.equal(c.read(c.path), made, 'the repeat changes nothing')
  c.t.equal(answer['replayed'], true)
  c.t.same(withoutReplayed(answer), withoutReplayed(first.answer), 'the same answer')
  if (c.way.kind === 'undo') return
  await c.makes('INVALID_REQUEST', {
    request,
    ...(c.way.forms.length > 0 ? { line: 3 } : { words: 'x', expected: null })
  })
}

const isTriedAgain: Check = async (c) => {
  await c.way.prepare(c)
  const request = `again-${c.path}`
  await c.must(c.bob, 'lock_try', { filepaths: [c.path] })
  await c.makes('LOCK_TIMEOUT', { request })
  await c.must(c.bob, 'lock_release_all', {})
  const { answer } = await c.makes('ok', { request })
  c.t.equal(answer['replayed'], undefined)
  c.hasAfter(textBefore(c))
}

const restores: Check = async (c) => {
  if (c.way.kind !== 'create') c.write(c.text)
  if (c.way.kind === 'undo' || c.way.operation === 'async_restore') await c.way.prepare(c)
  if (c.way.kind === 'move') c.write(targetOf(c), c.other)
  await c.makes('ok', { overwrite: true })
  const lost = c.way.kind === 'move' ? [[c.other, targetOf(c)]] : [[c.path, c.text]]
  for (const [path = '', text = ''] of lost) {
    await c.must(c.bob, 'async_restore', { path, hash: hashOfBytes(text), expected_hash: null })
    c.has(text, path)
  }
}

/** Every byte that is replaced or removed can be had back, or the answer says that it cannot. */
const saysWhatIsLost: Check = async (c) => {
  await c.way.prepare(c)
  if (c.way.kind === 'move') c.write(targetOf(c), c.other)
  const { isKept } = await c.makes('ok', { overwrite: true })
  const [path, text] = c.way.kind === 'move' ? [c.other, targetOf(c)] : [c.path, c.text]
  const back = await c.world.call(c.bob, 'async_restore', { path, hash: hashOfBytes(text), expected_hash: null })
  c.t.match(back, { error_code: 'VERSION_NOT_KEPT' })
  c.t.equal(isKept, false, 'the answer says so')
}

const modeOf = (c: Case, name: string) => statSync(c.world.tree.path(name)).mode & 0o7777

/** Of the file, whatever its name is; and one that was deleted comes back with it. */
const keepsMode: Check = async (c) => {
  await readied(c)
  chmodSync(c.world.tree.path(c.path), 0o750)
  await c.makes('ok')
  if (c.way.kind !== 'remove') c.t.equal(modeOf(c, c.way.kind === 'move' ? c.other : c.path), 0o750)
  if (c.way.kind === 'undo') return
  await c.must(c.bob, 'async_undo', { by_agent: c.ann })
  c.t.equal(modeOf(c, c.path), 0o750)
}

/** The bytes, the mode and both names come back; and with the redo they go again. */
const comesBack: Check = async (c) => {
  await readied(c)
  if (c.way.kind === 'move') c.write(targetOf(c), c.other)
  const before = [c.read(c.path), c.read(c.other)]
  await c.makes('ok', { overwrite: true })
  const after = [c.read(c.path), c.read(c.other)]
  const undone = await c.must(c.bob, 'async_undo', { by_agent: c.ann })
  c.t.same([c.read(c.path), c.read(c.other)], before, 'as it was before')
  c.t.match(undone, { conflicts: [] })
  const redone = await c.must(c.bob, 'async_undo', { of_change_set: undone['change_set'] })
  c.t.same([c.read(c.path), c.read(c.other)], after, 'as it was after the change')
  c.t.match(redone, { conflicts: [] })
}

const byMode = process.platform === 'win32' ? why('Windows has no modes.') : by(keepsMode)

export const keptRules: readonly Rule[] = [
  {
    title: 'with a request_id a change is made once, and a repeat gets its answer',
    cells: {
      content: by(isMadeOnce),
      create: by(isMadeOnce),
      remove: by(isMadeOnce),
      move: by(isMadeOnce),
      undo: by(isMadeOnce),
      native: why('The tool of a harness has no name for a request.')
    }
  },
  {
    title: 'what a request_id did not change is tried again under that name',
    cells: {
      content: by(isTriedAgain),
      create: by(isTriedAgain),
      remove: by(isTriedAgain),
      move: by(isTriedAgain),
      undo: by(isTriedAgain),
      native: why('The tool of a harness has no name for a request.')
    }
  },
  {
    title: 'bytes that the server had not read can be had back after they are replaced or removed',
    cells: {
      content: by(restores),
      create: why('It makes a file: no bytes are replaced.'),
      remove: by(restores),
      move: by(restores),
      undo: by(restores),
      native: by(restores)
    },
    special: { 'hook: Write': { reason: 'It may not replace a file that its session has not read.' } }
  },
  {
    title: 'bytes that no cache has room for are said to be lost',
    world: 'forgetful',
    cells: {
      content: by(saysWhatIsLost),
      create: why('It makes a file: no bytes are replaced.'),
      remove: by(saysWhatIsLost),
      move: by(saysWhatIsLost),
      undo: why('Without kept bytes nothing is taken back: a conflict, not_kept.'),
      native: why('The harness makes the change, and its hook has no answer for this.')
    },
    special: { async_restore: { reason: 'Without kept bytes nothing is restored: VERSION_NOT_KEPT.' } }
  },
  {
    title: 'the mode of the file stays, and comes back with it',
    cells: {
      content: byMode,
      create: why('It makes a file: no mode is there.'),
      remove: byMode,
      move: byMode,
      undo: byMode,
      native: byMode
    }
  },
  {
    title: 'async_undo takes the change back, and undone itself it is there again',
    cells: {
      content: by(comesBack),
      create: by(comesBack),
      remove: by(comesBack),
      move: by(comesBack),
      undo: by(comesBack),
      native: by(comesBack)
    }
  }
]
