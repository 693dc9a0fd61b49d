// What being watched costs: each call for being counted and for its span, and the server for a scrape.
import { Agent, request, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import * as api from '@opentelemetry/api'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { createCallCounts } from '../../src/engine/call/call-counts.ts'
import type { CalledOperation, CarryCall } from '../../src/engine/call/context.ts'
import { createSpans } from '../../src/engine/call/spans.ts'
import { startServer } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const rounds = 15
const countedCalls = 100_000
const reads = 500
const scrapes = 25
const tracedCalls = 10_000
/** As often as Prometheus asks unless told otherwise. */
const scrapeSeconds = 15

export async function metrics(): Promise<void> {
  console.log('\n## metrics: what a call pays for being counted and traced, and what a scrape takes')
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
    // The server has started without an SDK: its own calls have no spans.
    const traced = withSpans(owner)
    const samples = {
      counting: [] as number[],
      tracing: [] as number[],
      reading: [] as number[],
      scraping: [] as number[]
    }
    let size = 0
    for (let round = 0; round <= rounds; round++) {
      const counting = (await microseconds(countedCalls, counted)) - (await microseconds(countedCalls, bare))
      const tracing = (await microseconds(tracedCalls, traced)) - (await microseconds(tracedCalls, bare))
      const reading = await microseconds(reads, read)
      const scraping = await microseconds(scrapes, async () => (size = await send('GET', '/metrics')))
      // The first round warms up.
      if (round === 0) continue
      samples.counting.push(counting)
      samples.tracing.push(tracing)
      samples.reading.push(reading)
      samples.scraping.push(scraping)
    }
    const { counting, tracing, reading, scraping } = mapValues(samples, median)
    printTable(
      `medians of ${rounds}`,
      ['', 'us'],
      [
        ['a read of 10 KB over HTTP, one connection', figure(reading)],
        ['counting a call', figure(counting)],
        ['counting, of the read', percent(counting / reading)],
        ['tracing a call without an SDK: the same function', '0'],
        ['tracing a call, with an SDK that keeps its spans', figure(tracing)],
        ['tracing, of the read', percent(tracing / reading)],
        [`a scrape of ${whole(size)} bytes`, figure(scraping)],
        [`a scrape every ${scrapeSeconds} s, of a core`, percent(scraping / (scrapeSeconds * 1e6))]
      ]
    )
  })
}

/** Calls that belong to the trace of their caller, by the SDK that most programs use; it sends nothing. */
function withSpans(owner: { teardown(fn: () => unknown): void }): () => Promise<unknown> {
  const exporter: SpanExporter = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {} }
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
  api.trace.setGlobalTracerProvider(provider)
  owner.teardown(async () => {
    api.trace.disable()
    await provider.shutdown()
  })
  const call = createSpans(api, '0')(nothing)
  const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1 }
  return () => call(read, {}, { ...options, caller: { transport: 'rest', trace } })
}

function mapValues<Key extends string, From, To>(from: Record<Key, From>, map: (value: From) => To): Record<Key, To> {
  return Object.fromEntries(Object.entries<From>(from).map(([key, value]) => [key, map(value)])) as Record<Key, To>
}

const read: CalledOperation = { name: 'async_read', repeats: 'always', call: async () => ({}) }
const nothing: CarryCall = async () => ({ status: 'ok' })
const count = createCallCounts().counting(nothing)
const options = { caller: { transport: 'rest' }, signal: new AbortController().signal } as const
const counted = () => count(read, {}, options)
const bare = async () => nothing(read, {}, options)

async function microseconds(times: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let time = 0; time < times; time++) await work()
  return ((performance.now() - start) / times) * 1000
}
