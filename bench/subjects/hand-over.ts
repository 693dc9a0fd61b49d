// How soon a waiter at a relay is granted what the client of a leaving authority held, on a tree with much to hand over.
import type { Answer } from '../../test/fixtures/clients.ts'
import { call, post, untilDepthOf } from '../../test/fixtures/processes.ts'
import { startStdio } from '../../test/fixtures/stdio.ts'
import { makeTree, type Tree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { processorMs } from '../process-use.ts'
import { median, percentile } from '../statistics.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

const rounds = 21
/** Kept all the time. */
const leases = 1000
const versions = 10_000
const filesPerCall = 1000
const passed = { filepaths: ['passed.txt'], timeout_seconds: 20 }

export async function handOver(): Promise<void> {
  console.log(
    `\n## hand-over: a window that serves the tree ends, and a wait through another one is granted; ${whole(leases)} leases and ${whole(versions)} versions are kept`
  )
  const rows = await withOwner(async (owner) => {
    const names = Array.from({ length: versions }, (_, index) => `f${index}.txt`)
    const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, `${name}\n`])))
    return [
      toRow('persistence.enabled false', await measure(owner, tree, names, 'false')),
      toRow('persistence.enabled true', await measure(owner, tree, names, 'true'))
    ]
  })
  const columns = ['state', 'rounds', 'p50', 'p95', 'most', 'work p50', 'work p95']
  printTable('from the end of standard input to the grant, ms, and processor time of the successor', columns, rows)
}

interface Round {
  readonly ms: number
  /** Processor time of the process that takes over: it depends less on what else runs. */
  readonly workMs: number
}

function toRow(name: string, rounds: readonly Round[]): Row {
  const times = rounds.map(({ ms }) => ms)
  const work = rounds.map(({ workMs }) => workMs)
  const shown = [median(times), percentile(times, 95), Math.max(...times), median(work), percentile(work, 95)]
  return [name, whole(times.length), ...shown.map(figure)]
}

/** Each window holds the file in its turn, while the next one, the only relay, waits for it. */
async function measure(owner: Owner, tree: Tree, names: readonly string[], enabled: string): Promise<Round[]> {
  const environment = { XDG_DATA_HOME: makeTree(owner).root, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: enabled }
  const open = (transport: string) => startStdio(owner, ['--transport', transport, '--dir', tree.root], { environment })
  let holder = open('dual')
  await take(call(holder, 'lock_try', { filepaths: ['passed.txt'], agent_id: 'agent-0' }))
  await fill(await holder.url(), names)
  const done: Round[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const next = open('stdio')
    const granted = take(call(next, 'lock_wait', { ...passed, agent_id: `agent-${round}` }))
    await untilDepthOf(next, 'passed.txt', 1)
    const workBefore = processorMs(next.process.pid)
    const start = performance.now()
    const ended = holder.end()
    await granted
    done.push({ ms: performance.now() - start, workMs: processorMs(next.process.pid) - workBefore })
    await ended
    holder = next
  }
  await holder.end()
  return done
}

/** Leases that are taken over REST end with no process. */
async function fill(url: string, names: readonly string[]): Promise<void> {
  for (let first = 0; first < versions; first += filesPerCall) {
    const some = names.slice(first, first + filesPerCall)
    const { status } = await post(url, 'async_batch_read', { files: some.map((path) => ({ path })) })
    if (status !== 'ok') throw new Error(`not read: ${status}`)
  }
  await take(post(url, 'lock_try', { filepaths: names.slice(0, leases), agent_id: 'keeper', ttl_seconds: 3600 }))
}

/** @throws Error if one is not granted */
async function take(asked: Promise<Answer>): Promise<void> {
  const answer = await asked
  if (answer['all_acquired'] !== true) throw new Error(`not granted: ${JSON.stringify(answer).slice(0, 500)}`)
}
