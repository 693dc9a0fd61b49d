// Many agents in processes of their own contend for a few files of the real program; what they and an observer saw is the result.
import { setTimeout as delay } from 'node:timers/promises'
import { programAsOverRest, startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { createRandom } from '../../fixtures/random.ts'
import { createCrowd } from './crowd.ts'
import { hangMs, now, type History } from './history.ts'
import { startObserver, takeSnapshot } from './observer.ts'

export interface ContendersOptions {
  readonly agents: number
  /** Agents that share a process and are killed together. The number of agents is a multiple of it. */
  readonly crewSize: number
  /** Between two crashes. */
  readonly crashMs: { readonly least: number; readonly most: number }
  readonly files: number
  /** From the moment that all have begun. */
  readonly seconds: number
  readonly seed: number
  /** Whether what has happened so far is enough: on a busy machine it takes longer. */
  readonly isEnough: (history: History) => boolean
}

export interface ContendersResult {
  readonly history: History
  /** Lines of the server's log that tell of a failure. */
  readonly failures: readonly string[]
}

interface Owner {
  teardown(fn: () => unknown): void
}

const graceSeconds = 1
const cutSeconds = { rest: 2, mcp: 0.6 }
const longestWaitMs = cutSeconds.rest * 1000
/** Processes that load at once. */
const startingAtOnce = 3
/** Between two who begin: what runs for the first time is slow. */
const admitMs = 50
/** Between two looks whether enough has happened. */
const lookMs = 500
const settings = {
  ...programAsOverRest,
  ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: String(cutSeconds.rest),
  // Forty processes that start at once on two cores are slow to send.
  ASYNC_CRUD_MCP_DAEMON__HEADER_TIMEOUT_SECONDS: '60',
  ASYNC_CRUD_MCP_DAEMON__REQUEST_TIMEOUT_SECONDS: '60',
  ASYNC_CRUD_MCP_DAEMON__MCP_WAIT_SECONDS: String(cutSeconds.mcp),
  ASYNC_CRUD_MCP_LOCKS__TICKET_GRACE_SECONDS: String(graceSeconds)
}

export async function runContenders(owner: Owner, options: ContendersOptions): Promise<ContendersResult> {
  const { agents, crewSize, crashMs, seconds, seed, isEnough } = options
  const names = Array.from({ length: options.files }, (_, index) => `file-${String(index).padStart(2, '0')}.txt`)
  const before = (name: string) => `${name}, to be changed by many\n`
  const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, before(name)])))
  const journals = makeTree(owner)
  const server = await startProgram(owner, ['--dir', tree.root], settings)
  const random = createRandom(seed)
  const crowd = createCrowd(owner, {
    url: server.url,
    files: names,
    folder: journals.root,
    seed,
    random,
    crewSize,
    cutMs: { rest: cutSeconds.rest * 1000, mcp: cutSeconds.mcp * 1000 }
  })
  const first = await inParallel(agents / crewSize, startingAtOnce, () => crowd.prepare())
  const observer = startObserver(server.url)
  for (const crew of first) {
    crowd.admit(crew)
    await delay(admitMs)
  }
  const endAt = now() + seconds * 1000
  const isOver = () => now() >= endAt && (now() >= endAt + hangMs || isEnough(history()))
  while (!isOver()) {
    const next = await crowd.prepare()
    const crashAt = now() + crashMs.least + (crashMs.most - crashMs.least) * random()
    while (now() < crashAt && !isOver()) await delay(Math.min(lookMs, crashAt - now()))
    if (now() >= crashAt) crowd.replaceOne(next)
  }
  await crowd.finish(hangMs)
  const finishedAt = now()
  const emptyAt = await waitUntilEmpty(server.url, hangMs)
  await observer.stop()
  await server.stop()
  const lines = [...server.stderr, ...server.stdout]
  return {
    history: { ...history(), emptyAfterMs: emptyAt === undefined ? undefined : emptyAt - finishedAt },
    failures: lines.filter((line) => /"level":[56]0/.test(line))
  }

  function history(): History {
    return {
      agents: crowd.histories(),
      snapshots: observer.snapshots,
      files: names.map((name) => ({ name, before: before(name), after: tree.read(name) })),
      graceMs: graceSeconds * 1000,
      longestWaitMs,
      emptyAfterMs: undefined
    }
  }
}

async function waitUntilEmpty(url: string, limitMs: number): Promise<number | undefined> {
  for (const limit = now() + limitMs; now() < limit; await delay(50)) {
    const { files, receivedAt } = await takeSnapshot(url)
    if (files.length === 0) return receivedAt
  }
  return undefined
}

async function inParallel<Result>(count: number, atOnce: number, make: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  let left = count
  const worker = async () => {
    while (left > 0) {
      left -= 1
      results.push(await make())
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}
