// What the metrics cost: each call for being counted, and the server for a scrape.
import { Agent, request, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { createCallCounts } from '../../src/engine/call-counts.ts'
import type { CallOperation } from '../../src/engine/context.ts'
import { startServer } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const rounds = 15
const countedCalls = 100_000
const reads = 1_000
const scrapes = 50

export async function metrics(): Promise<void> {
  console.log('\n## metrics: what a call pays for being counted, and what a scrape takes')
  await withOwner(async (owner) => {
    const tree = makeTree(owner, { f: 'x'.repeat(10_239) })
    const { url } = await startServer(owner, tree.root, { daemon: { log_level: 'silent' } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    owner.teardown(() => agent.destroy())
    const send = async (method: string, path: string, body?: string) => {
      const sent = request(url + path, { method, agent, headers: { 'content-type': 'application/json' } }).end(body)
      const response = await new Promise<IncomingMessage>((resolve, reject) =>
        sent.on('response', resolve).on('error', reject)
      )
      return (await buffer(response)).length
    }
    const read = () => send('POST', '/async_read', '{"path":"f"}')
    const samples = { counting: [] as number[], reading: [] as number[], scraping: [] as number[] }
    let size = 0
    for (let round = 0; round <= rounds; round++) {
      const counting = (await microseconds(countedCalls, counted)) - (await microseconds(countedCalls, bare))
      const reading = await microseconds(reads, read)
      const scraping = await microseconds(scrapes, async () => (size = await send('GET', '/metrics')))
      // The first round warms up.
      if (round === 0) continue
      samples.counting.push(counting)
      samples.reading.push(reading)
      samples.scraping.push(scraping)
    }
    const [counting, reading] = [median(samples.counting), median(samples.reading)]
    printTable(
      `medians of ${rounds}`,
      ['', 'us'],
      [
        ['a read of 10 KB over HTTP, one connection', figure(reading)],
        ['counting a call', figure(counting)],
        ['counting, of the read', percent(counting / reading)],
        [`a scrape of ${whole(size)} bytes`, figure(median(samples.scraping))]
      ]
    )
  })
}

const nothing: CallOperation = async () => ({ status: 'ok' })
const count = createCallCounts().counting(nothing, new Set(['async_read']))
const options = { caller: { transport: 'rest' }, signal: new AbortController().signal } as const
const counted = () => count('async_read', {}, options)
const bare = async () => nothing('async_read', {}, options)

async function microseconds(times: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let time = 0; time < times; time++) await work()
  return ((performance.now() - start) / times) * 1000
}
