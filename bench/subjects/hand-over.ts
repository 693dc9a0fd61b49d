// How soon a waiter at a relay is granted what the client of a leaving authority held, on a tree with much to hand over.
import { startStdio } from '../../test/fixtures/stdio.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { post, untilDepthOf } from '../../test/fixtures/processes.ts'
import { withOwner, type Owner } from '../owner.ts'
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
  const rows: Row[] = []
  for (const enabled of ['false', 'true']) {
    const times = await withOwner((owner) => measure(owner, enabled))
    const shown = [median(times), percentile(times, 95), Math.max(...times)].map(figure)
    rows.push([`persistence.enabled ${enabled}`, whole(times.length), ...shown])
  }
  printTable('from the end of standard input to the grant, ms', ['state', 'rounds', 'p50', 'p95', 'most'], rows)
}

/** Each window holds the file in its turn, while the next one, the only relay, waits for it. */
async function measure(owner: Owner, enabled: string): Promise<number[]> {
  const names = Array.from({ length: versions }, (_, index) => `f${index}.txt`)
  const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, `${name}\n`])))
  const environment = { XDG_DATA_HOME: makeTree(owner).root, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: enabled }
  const open = () => startStdio(owner, ['--transport', 'dual', '--dir', tree.root], { environment })
  let holder = open()
  await holder.call('lock_try', { filepaths: ['passed.txt'], agent_id: 'agent-0' })
  await fill(await holder.url(), names)
  const times: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const next = open()
    const granted = next.call('lock_wait', { ...passed, agent_id: `agent-${round}` })
    await untilDepthOf(next, 'passed.txt', 1)
    const start = performance.now()
    const ended = holder.end()
    const { result } = await granted
    times.push(performance.now() - start)
    if (result?.['all_acquired'] !== true) throw new Error(`not granted: ${JSON.stringify(result)}`)
    await ended
    holder = next
  }
  await holder.end()
  return times
}

/** Leases that are taken over REST end with no process. */
async function fill(url: string, names: readonly string[]): Promise<void> {
  for (let first = 0; first < versions; first += filesPerCall) {
    const some = names.slice(first, first + filesPerCall)
    await post(url, 'async_batch_read', { files: some.map((path) => ({ path })) })
  }
  await post(url, 'lock_try', { filepaths: names.slice(0, leases), agent_id: 'keeper', ttl_seconds: 3600 })
}
