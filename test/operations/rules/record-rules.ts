// Rules about what is told of a change: notices, history, blame.
import type { Answer } from '../../fixtures/clients.ts'
import { by, why, type Check, type Rule } from './rule.ts'
import { targetOf } from './standing.ts'
import { hashOfBytes, type Case } from './way.ts'

/** The file of a new name was there before, and was deleted. */
async function ready(c: Case): Promise<void> {
  await c.way.prepare(c)
  if (c.way.kind !== 'create') return
  c.write('before\n')
  await c.seen(c.carl)
  await c.must('zed', 'async_delete', { path: c.path })
}

async function noticesFor(c: Case, agent: string): Promise<Answer[]> {
  const { notices = [] } = await c.world.call(agent, 'async_status', {})
  return notices as Answer[]
}

const tellsReader: Check = async (c) => {
  await ready(c)
  if (c.way.kind !== 'create') for (const agent of [c.carl, c.ann]) await c.seen(agent)
  await c.makes('ok')
  const authors = [{ agent_id: c.ann, operation: c.way.operation }]
  const hash = c.read(c.path) === undefined ? null : c.hash()
  const notices = await noticesFor(c, c.carl)
  c.t.match(notices, [{ type: 'file_changed', path: c.path, hash }])
  c.t.match(notices[0]?.['modified_by'].at(-1), authors[0])
  if (c.way.kind === 'move') c.t.match(notices, [{ renamed_to: c.other }])
  c.t.same(await noticesFor(c, c.carl), [], 'once')
  c.t.same(await noticesFor(c, c.ann), [], 'its own change is no news')
}

/** Over a file that others have read: they are told of both names. */
const tellsOfBothNames: Check = async (c) => {
  await ready(c)
  c.write(targetOf(c), c.other)
  const only = `${c.carl}-only`
  await c.seen(only, c.other)
  for (const agent of [c.carl, c.ann]) for (const name of [c.path, c.other]) await c.seen(agent, name)
  await c.makes('ok', { overwrite: true })
  const ofTarget = { path: c.other, hash: c.hash(c.other), modified_by: [{ agent_id: c.ann }] }
  const told = (await noticesFor(c, c.carl)).sort((one, other) => String(one['path']).localeCompare(other['path']))
  c.t.match(told, [{ path: c.path, hash: null, renamed_to: c.other }, ofTarget])
  c.t.match(await noticesFor(c, only), [ofTarget])
  c.t.same(await noticesFor(c, c.ann), [], 'its own change is no news')
}

/** A reader of what a rename had put there is told what the undo has made of both names. */
const tellsOfNamesGivenBack: Check = async (c) => {
  c.write(c.text)
  c.write(targetOf(c), c.other)
  await c.seen(c.carl)
  await c.must('zed', 'async_rename', { old_path: c.path, new_path: c.other, overwrite: true })
  c.t.match(await noticesFor(c, c.carl), [{ path: c.path, hash: null, renamed_to: c.other }])
  await c.seen(c.carl, c.other)
  await c.must(c.ann, 'async_undo', { versions: [{ path: c.other, hash: c.hash(c.other) }] })
  c.has(c.text)
  const [notice, another] = await noticesFor(c, c.carl)
  const last = { agent_id: c.ann, operation: 'async_undo' }
  c.t.match(notice, { path: c.other, hash: hashOfBytes(targetOf(c)) })
  c.t.match(notice?.['modified_by'].at(-1), last)
  c.t.equal(another, undefined)
}

async function versionsOf(c: Case, path = c.path): Promise<Answer[]> {
  return (await c.must(c.bob, 'async_history', { path }))['versions'] as Answer[]
}

const isInHistory: Check = async (c) => {
  await ready(c)
  if (c.way.kind === 'native') await c.seen(c.ann)
  await c.makes('ok')
  const own = c.way.kind === 'native' ? {} : { change_set: 'the task' }
  const entry = { agent_id: c.ann, operation: c.way.operation, ...own }
  const [last] = await versionsOf(c)
  c.t.match(last, { ...entry, hash: c.read(c.path) === undefined ? null : c.hash() })
  if (c.way.kind !== 'move') return
  c.t.match(last, { renamed_to: c.other })
  c.t.match((await versionsOf(c, c.other))[0], { ...entry, hash: c.hash(c.other), renamed_from: c.path })
}

async function authorOf(c: Case, line: number, path: string): Promise<Answer> {
  const answer = await c.must(c.carl, 'async_blame', { path, start_line: line, end_line: line })
  return answer['ranges'][0] as Answer
}

/** Another agent has changed the second line before. */
const isInBlame: Check = async (c) => {
  await c.way.prepare(c)
  await c.others()
  await c.seen(c.ann)
  const own = { agent_id: c.ann, operation: c.way.operation }
  await c.makes('ok', { said: c.read(c.path) as string, expected: c.hash() })
  const path = c.way.kind === 'move' ? c.other : c.path
  c.t.match(await authorOf(c, 2, path), { agent_id: c.bob, operation: 'async_update' })
  const lines = (c.read(path) as string).split('\n')
  const mine = lines.indexOf('mine') + 1
  if (mine > 0 && c.way.kind !== 'undo') c.t.match(await authorOf(c, mine, path), own)
  c.t.match(await authorOf(c, 1, path), { agent_id: null })
}

const newLines: Check = async (c) => {
  await c.makes('ok')
  c.t.match(await authorOf(c, 1, c.path), { agent_id: c.ann, operation: c.way.operation })
}

export const recordRules: readonly Rule[] = [
  {
    title: 'agents that have read the file get one notice of the change, and its author none',
    cells: {
      content: by(tellsReader),
      create: by(tellsReader),
      remove: by(tellsReader),
      move: by(tellsReader),
      undo: by(tellsReader),
      native: by(tellsReader)
    }
  },
  {
    title: 'agents that have read the file of the new name are told of that name, too',
    cells: {
      content: why('It is about one name: the row above.'),
      create: why('It is about one name: the row above.'),
      remove: why('It is about one name: the row above.'),
      move: by(tellsOfBothNames),
      undo: by(tellsOfNamesGivenBack),
      native: why('It is about one name: the row above.')
    }
  },
  {
    title: 'the history has the change, with agent, operation and change set, at each name',
    cells: {
      content: by(isInHistory),
      create: by(isInHistory),
      remove: by(isInHistory),
      move: by(isInHistory),
      undo: by(isInHistory),
      native: by(isInHistory)
    }
  },
  {
    title: 'blame shows the author of the changed lines, and of others theirs',
    cells: {
      content: by(isInBlame),
      create: by(newLines),
      remove: why('No lines are left.'),
      move: by(isInBlame),
      undo: by(isInBlame),
      native: by(isInBlame)
    },
    special: {
      async_restore: { reason: 'It brings a whole version back, and so the lines of those who made it.' },
      PUT: isInBlame
    }
  }
]
