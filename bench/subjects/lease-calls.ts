// A lease taken and given back over REST, beside the least that the same server answers.
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import type { Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole, type Row } from '../table.ts'

interface Senders {
  readonly floor: Send
  /** Both calls. */
  readonly lease: Send
}

const rounds = 7
const roundMs = 300

export async function measureLeaseCalls(owner: Owner): Promise<void> {
  const { root } = makeTree(owner)
  const { url } = await startProgram(owner, ['--dir', root])
  const rows: Row[] = []
  for (const connections of [1, 10]) {
    const senders = await Promise.all(Array.from({ length: connections }, (_, index) => open(owner, url, index)))
    rows.push(await compare(connections, senders))
  }
  const head = [
    'connections',
    'GET /health per s',
    'p50 ms',
    'try + release per s',
    'p50 ms',
    'requests of GET /health'
  ]
  printTable('lock_try, then lock_release, over REST', head, rows)
}

/** One connection, one agent, one file. */
async function open(owner: Owner, url: string, index: number): Promise<Senders> {
  const connection = await RawConnection.open(url, owner)
  const send = async (request: Buffer) => {
    const { status, body } = await connection.send(request)
    if (status !== 200) throw new Error(`${status} ${body.toString()}`)
  }
  const input = JSON.stringify({ filepaths: [`file-${index}.ts`], agent_id: `agent-${index}` })
  const health = toRequest(url, 'GET', '/health')
  const [acquire, release] = [
    toRequest(url, 'POST', '/lock_try', input),
    toRequest(url, 'POST', '/lock_release', input)
  ]
  return {
    floor: () => send(health),
    lease: async () => {
      await send(acquire)
      await send(release)
    }
  }
}

async function compare(connections: number, senders: readonly Senders[]): Promise<Row> {
  const [floors, leases] = [senders.map(({ floor }) => floor), senders.map(({ lease }) => lease)]
  await warmUp(floors)
  await warmUp(leases)
  const rates: { floor: number; lease: number }[] = []
  const latencies: { floor: number[]; lease: number[] } = { floor: [], lease: [] }
  for (let round = 0; round < rounds; round += 1) {
    const floor = await runLoad(floors, roundMs)
    const lease = await runLoad(leases, roundMs)
    rates.push({ floor: floor.perSecond, lease: lease.perSecond })
    latencies.floor.push(...floor.latenciesMs)
    latencies.lease.push(...lease.latenciesMs)
  }
  return [
    whole(connections),
    whole(median(rates.map(({ floor }) => floor))),
    figure(median(latencies.floor)),
    whole(median(rates.map(({ lease }) => lease))),
    figure(median(latencies.lease)),
    percent(median(rates.map(({ floor, lease }) => (2 * lease) / floor)))
  ]
}

function toRequest(url: string, method: string, path: string, body = ''): Buffer {
  const content =
    method === 'GET' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${content}\r\n${body}`)
}
