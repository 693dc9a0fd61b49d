// Growth with those who work on a tree: agents that have read the same file, and agents that wait for it.
import { hashOf, makeTree } from '../../test/fixtures/tree.ts'
import { costOf, type Measured } from '../growth.ts'
import type { Owner } from '../owner.ts'
import { processorMs, residentMb } from '../process-use.ts'
import { openRest, type EditingCall } from './editing-doors.ts'

const agentCounts = [10, 100, 1000]
const manyFiles = 100

/** Each of them has read the same hundred files: all of them will be told what one of them changes. */
export async function agentsReading(owner: Owner, calls: number): Promise<Measured[]> {
  const names = Array.from({ length: manyFiles }, (_, index) => `file-${index}`)
  const text = (version: number) => `${'the same line\n'.repeat(300)}version ${version}\n`
  const { root } = makeTree(owner, Object.fromEntries(names.map((name) => [name, text(0)])))
  const door = await openRest(owner, root, { ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename' })
  const call = await door.connect()
  const files = names.map((path) => ({ path }))
  const measured: Measured[] = []
  let agents = 0
  let version = 0
  for (const size of agentCounts) {
    for (; agents < size; agents += 1) await call('async_batch_read', { files, agent_id: `agent-${agents}` })
    const update = await costOf(door.pid, calls / 4, () => {
      version += 1
      const change = { path: 'file-0', expected_hash: hashOf(text(version - 1)), content: text(version) }
      return call('async_update', { ...change, agent_id: 'agent-0' })
    })
    const read = await costOf(door.pid, calls, (index) =>
      call('async_read', { path: names[index % manyFiles], agent_id: `agent-${(index * 7) % size}` })
    )
    measured.push(
      { what: 'update of a file that so many agents have read', size, cost: update, mb: residentMb(door.pid) },
      { what: 'read by one of so many agents', size, cost: read, mb: residentMb(door.pid) }
    )
  }
  return measured
}

const waiterCounts = [10, 100, 900]

/** All wait for one file; each gives it back as soon as it has it. */
export async function waitersOnOnePath(owner: Owner): Promise<Measured[]> {
  const { root } = makeTree(owner, { f: 'one' })
  const door = await openRest(owner, root)
  const call = await door.connect()
  const filepaths = ['f']
  const measured: Measured[] = []
  const connections = await Promise.all(Array.from({ length: Math.max(...waiterCounts) }, () => door.connect()))
  for (const size of waiterCounts) {
    await call('lock_try', { filepaths, agent_id: 'holder' })
    const waiting = connections.slice(0, size).map(async (call, index) => {
      const agent_id = `waiter-${index}`
      await call('lock_wait', { filepaths, agent_id, timeout_seconds: 300 })
      await call('lock_release', { filepaths, agent_id })
    })
    while ((await queueDepth(call)) < size) continue
    const mb = residentMb(door.pid)
    const used = processorMs(door.pid)
    const begun = performance.now()
    await call('lock_release', { filepaths, agent_id: 'holder' })
    await Promise.all(waiting)
    const cost = {
      us: ((performance.now() - begun) * 1000) / size,
      processorUs: ((processorMs(door.pid) - used) * 1000) / size
    }
    measured.push({ what: 'release and grant, waiters for one file', size, cost, mb })
  }
  return measured
}

async function queueDepth(call: EditingCall): Promise<number> {
  const answer = await call('lock_status', { filepaths: ['f'], agent_id: 'holder' })
  return Number(/"queue_depth":(\d+)/.exec(answer.toString())?.[1])
}
