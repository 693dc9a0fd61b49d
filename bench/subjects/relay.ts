// What a relay costs: the same read over HTTP at the authority of a tree and at a relay, in turn; and how soon a relay takes over.
import { once } from 'node:events'
import { startProgram, type RunningProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { median } from '../statistics.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

/** Files by their size, and reads of each in a round. */
const files = [
  { name: '1 KB', bytes: 1024, reads: 200 },
  { name: '100 KB', bytes: 102_400, reads: 100 },
  { name: '1 MB', bytes: 1_048_576, reads: 20 }
]
const rounds = 11
const takeOvers = 7

interface Member {
  readonly program: RunningProgram
  readonly read: (path: string) => Promise<void>
}

export async function relay(): Promise<void> {
  console.log('\n## relay: the same call at the authority and through a relay')
  await withOwner(measureReads)
  await withOwner(measureTakeOvers)
}

async function measureReads(owner: Owner): Promise<void> {
  const tree = makeTree(owner)
  for (const { name, bytes } of files) tree.write(name, 'twelve chars\n'.repeat(bytes / 13))
  const [authority, relay] = [await join(owner, tree.root), await join(owner, tree.root)]
  const rows: Row[] = []
  for (const { name, reads } of files) {
    const times = { here: [] as number[], there: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      times.here.push(await timeEach(reads, () => authority.read(name)))
      times.there.push(await timeEach(reads, () => relay.read(name)))
    }
    const [here, there] = [median(times.here), median(times.there)]
    rows.push([name, whole(here * 1000), whole(there * 1000), figure(there / here)])
  }
  printTable('a read on one connection, us', ['file', 'authority', 'relay', 'of it'], rows)
}

/** From the kill of the authority to the answer of a read that is sent to a relay once it is dead. */
async function measureTakeOvers(owner: Owner): Promise<void> {
  const tree = makeTree(owner, { f: 'one' })
  let authority = await join(owner, tree.root)
  const times: number[] = []
  for (let round = 0; round < takeOvers; round += 1) {
    const next = await join(owner, tree.root)
    const ended = once(authority.program.process, 'exit')
    const start = performance.now()
    authority.program.process.kill('SIGKILL')
    await ended
    await next.read('f')
    times.push(performance.now() - start)
    authority = next
  }
  const row = [whole(takeOvers), figure(median(times)), figure(Math.max(...times))]
  printTable('from kill -9 of the authority to an answer of the next one, ms', ['rounds', 'median', 'most'], [row])
}

async function join(owner: Owner, root: string): Promise<Member> {
  const program = await startProgram(owner, ['--dir', root])
  const connection = await RawConnection.open(program.url, owner)
  const { host } = new URL(program.url)
  const read = async (path: string) => {
    const body = JSON.stringify({ path })
    const head = `POST /async_read HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const { status } = await connection.send(Buffer.from(head + body))
    if (status !== 200) throw new Error(`a read was answered ${status}`)
  }
  await connection.send(Buffer.from(`GET /locks HTTP/1.1\r\nhost: ${host}\r\n\r\n`))
  return { program, read }
}

/** Milliseconds of one call. */
async function timeEach(count: number, call: () => Promise<void>): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < count; done += 1) await call()
  return (performance.now() - start) / count
}
