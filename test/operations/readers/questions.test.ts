// The three questions that are answered from what an agent has seen, for each way of seeing: in one process, after a restart, over a relay.
import { basename } from 'node:path'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { isFull } from '../../fixtures/length.ts'
import { memberOn } from '../../fixtures/processes.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { makeKeptTree } from '../../tree/persistence/fixtures/kept.ts'
import { content, ways, type Scene, type Way } from './ways.ts'

type Call = (agent: string, operation: string, input: object) => Promise<Answer>

/** What an agent does goes to the first process, what it is asked about afterwards to the next. */
interface World {
  readonly tree: Tree
  readonly urls: { readonly ann: string; readonly bob: string }
  readonly next: () => Promise<string>
}

const config = { watcher: { enabled: false }, crud: { durability: 'rename' } } satisfies PartialConfig

const worlds: Record<string, (t: Test) => Promise<World>> = {
  async 'in one process'(t) {
    const tree = makeTree(t)
    const { url } = await startServer(t, tree.root, config)
    return { tree, urls: { ann: url, bob: url }, next: async () => url }
  },
  async 'after a restart'(t) {
    const tree = makeKeptTree(t)
    const { server } = await tree.serveHere(config)
    return {
      tree,
      urls: { ann: server.url, bob: server.url },
      async next() {
        await server.app.close()
        return (await tree.serveHere(config)).server.url
      }
    }
  },
  async 'over a relay'(t) {
    const tree = makeTree(t)
    const authority = await memberOn(t, tree, config)
    const relay = await memberOn(t, tree, config)
    return { tree, urls: { ann: relay.url, bob: authority.url }, next: async () => authority.url }
  }
}

const callOn =
  (url: string): Call =>
  async (agent, operation, input) => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': agent }
    const response = await fetch(`${url}/${operation}`, { method: 'POST', headers, body: JSON.stringify(input) })
    return (await response.json()) as Answer
  }

async function must(answer: Promise<Answer>, status = 'ok'): Promise<Answer> {
  const { status: is = '', ...rest } = await answer
  if (is !== status || 'error' in rest) throw new Error(JSON.stringify({ is, ...rest }))
  return rest
}

interface Case {
  readonly way: Way
  readonly path: string
  readonly ann: string
}

function sceneOf({ tree, urls }: World, { path, ann }: Case): Scene {
  const [own, others] = [callOn(urls.ann), callOn(urls.bob)]
  let calls = 0
  return {
    tree,
    path,
    ann: (operation, input, status) => must(own(ann, operation, input), status),
    bob: (operation, input) => must(others('bob', operation, input)),
    tool(hook_event_name, tool_name, tool_input, tool_response) {
      if (hook_event_name === 'PreToolUse') calls += 1
      const event = {
        session_id: 's',
        cwd: tree.root,
        hook_event_name,
        tool_name,
        tool_input,
        tool_use_id: `${ann}-${calls}`,
        ...(tool_response && { tool_response })
      }
      return must(own(ann, 'native_hook', { harness: 'claude-code', agent_id: ann, event }))
    },
    async http(method, headers, body) {
      const request = { method, headers: { 'x-agent-id': ann, ...headers }, ...(body !== undefined && { body }) }
      const response = await fetch(`${urls.ann}/files/${path}`, request)
      if (!response.ok) throw new Error(await response.text())
    }
  }
}

/** The file was another one before, so that there is a version to go back to. */
async function begin(world: World, one: Case): Promise<void> {
  world.tree.write(one.path, 'old\n')
  const { bob } = sceneOf(world, one)
  await bob('async_update', { path: one.path, expected_hash: hashOf('old\n'), content })
}

const isIn = (line: number, seen: Way['seen']) => seen.some(([from, to]) => from <= line && line <= to)

/** Lines of the file as it is now, far from what the agent has seen. */
function unseenOf(text: string, { seen, before = [] }: Way): number[] {
  const numbers = Array.from(text.split('\n').slice(0, -1), (_, index) => index + 1)
  const isNear = (line: number) => [line - 1, line, line + 1].some((one) => isIn(one, seen) || before.includes(one))
  return numbers.filter((line) => !isNear(line))
}

type Question = (t: Test, call: Call, tree: Tree, one: Case) => Promise<void>

const mayReplace: Question = async (t, call, tree, { way, path, ann }) => {
  const total = tree.read(path).split('\n').length - 1
  const restore = async () => (await call(ann, 'async_restore', { path, hash: hashOf('old\n') }))['status'] === 'ok'
  let from = 1
  for (const [start, end] of [...way.seen, [total + 1, total + 1] as const]) {
    if (start > from) {
      t.notOk(await restore(), `before it has seen lines ${from} to ${start - 1}`)
      await call(ann, 'async_read', { path, offset: from - 1, limit: start - from })
    }
    from = end + 1
  }
  t.ok(await restore(), 'when it has seen all')
}

const isNews: Question = async (t, call, tree, { way, path, ann }) => {
  async function toldOf(line: number): Promise<unknown> {
    const patches = [{ start_line: line, end_line: line, new_content: `changed ${line}\n` }]
    await must(call('bob', 'async_update', { path, expected_hash: hashOf(tree.bytes(path)), patches }))
    const { notices } = await call(ann, 'lock_status', { filepaths: ['elsewhere'] })
    return (notices as Answer[] | undefined)?.map((notice) => [basename(notice['path']), notice['lines']])
  }
  const told = (line: number) => [[path, [{ start_line: line, end_line: line }]]]
  const [unseen] = unseenOf(tree.read(path), way)
  if (unseen !== undefined) t.same(await toldOf(unseen), way.isNamed ? told(unseen) : undefined, `line ${unseen}`)
  for (const line of new Set([...way.seen.flat(), ...(way.before ?? [])]))
    t.same(await toldOf(line), told(line), `line ${line}`)
}

const isUnchanged: Question = async (t, call, tree, { way, path, ann }) => {
  const known_hash = hashOf(tree.bytes(path))
  const read = (from: number, to: number) =>
    call(ann, 'async_read', { path, known_hash, offset: from - 1, limit: to - from + 1 })
  for (const [from, to] of way.seen) t.match(await read(from, to), { not_modified: true }, `lines ${from} to ${to}`)
  const total = tree.read(path).split('\n').length - 1
  const unseen = Array.from({ length: total }, (_, index) => index + 1).filter((line) => !isIn(line, way.seen))
  if (unseen[0] === undefined) return
  t.notMatch(await read(1, total), { not_modified: true }, 'the whole')
}

const questions: Record<string, Question> = {
  'it may replace only a file that it has seen': mayReplace,
  'it is told of changes of what it has seen, and of no others': isNews,
  'what it has seen is not modified, and nothing else': isUnchanged
}

for (const [turn, [where, open]] of Object.entries(worlds).entries())
  t.test(where, async (t) => {
    const world = await open(t)
    const all = Object.keys(questions).map((question, number) =>
      ways.map((way, index) => ({ question, way, path: `f${number}-${index}`, ann: `ann-${number}-${index}` }))
    )
    // In the short form each way is asked about in each of the three worlds, by another question.
    const cases = all.flatMap((each, number) => each.filter((_, index) => isFull || (number + index) % 3 === turn))
    for (const one of cases) {
      await begin(world, one)
      await one.way.act(sceneOf(world, one))
    }
    const call = callOn(await world.next())
    for (const { question, way, path, ann } of cases)
      await t.test(`${way.title}: ${question}`, (t) =>
        questions[question]!(t, call, world.tree, { way, path: path + (way.name ?? ''), ann })
      )
  })
