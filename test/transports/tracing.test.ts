// Traces of the callers: in the log lines of their calls, and as parents of spans where OpenTelemetry is registered.
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan
} from '@opentelemetry/sdk-trace-base'
import t, { type Test } from 'tap'
import { connect, connectLegacy, connectModern } from '../fixtures/clients.ts'
import { readFileSync } from 'node:fs'
import { call, httpOn, stdioOn, untilQueued } from '../fixtures/processes.ts'
import { startProgram, startServer, type TestServer } from '../fixtures/server.ts'
import { installed } from '../../src/support/installation.ts'
import { holdLock, untilWaiting } from '../fixtures/locks.ts'
import { makeTree } from '../fixtures/tree.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

type Carrier = Readonly<Record<string, string>>

/** A read over REST; the line that the server logs of it. */
async function readWith({ url, log }: TestServer, headers: Carrier): Promise<Record<string, unknown>> {
  log.length = 0
  await fetch(`${url}/async_read`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"path":"f"}'
  })
  return lineOf(log)
}

function lineOf(log: readonly string[]): Record<string, unknown> {
  const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>)
  return lines.find(({ operation }) => operation !== undefined) ?? {}
}

t.test('the log line of a call has the trace of its caller, over each transport', async (t) => {
  const server = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const traced = { trace_id: traceId, span_id: spanId }
  t.match(await readWith(server, { traceparent }), traced)
  server.log.length = 0
  t.equal((await fetch(`${server.url}/files/f`, { headers: { traceparent } })).status, 200)
  t.match(lineOf(server.log), traced)
  const clients = [await connectModern(server.url), await connectLegacy(server.url)]
  const otherTrace = traceId.replace('0af', '1af')
  for (const client of clients) {
    // The SDK answers the first call, and the operation itself the later ones.
    for (let count = 0; count < 3; count += 1) {
      server.log.length = 0
      const _meta = { traceparent: `00-${otherTrace}-${spanId}-00` }
      await client.callTool({ name: 'async_read', arguments: { path: 'f' }, _meta })
      t.match(lineOf(server.log), { trace_id: otherTrace, span_id: spanId, transport: 'mcp' }, `call ${count}`)
    }
    await client.close()
  }
})

t.test('a malformed trace is ignored', async (t) => {
  const server = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  for (const malformed of [
    '',
    'x',
    `00-${traceId}-${spanId}`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `${traceparent}, ${traceparent}`,
    `${traceparent}${'0'.repeat(5000)}`
  ]) {
    const line = await readWith(server, { traceparent: malformed })
    t.match(line, { operation: 'async_read', status: 'ok' }, malformed)
    t.notOk('trace_id' in line || 'span_id' in line, malformed)
  }
  t.match(await readWith(server, { traceparent: `01-${traceId}-${spanId}-01-more` }), { trace_id: traceId })
})

t.test('with OpenTelemetry each call is one span, a child of its caller', async (t) => {
  const spans = register(t)
  const server = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const line = await readWith(server, { traceparent, tracestate: 'vendor=1' })
  const [read] = await spans(1)
  t.match(read, {
    name: 'async_read',
    kind: SpanKind.SERVER,
    parentSpanContext: { traceId, spanId, isRemote: true },
    attributes: {
      'async_crud.operation': 'async_read',
      'async_crud.transport': 'rest',
      'async_crud.result': 'ok'
    }
  })
  t.equal(read?.spanContext().traceState?.serialize(), 'vendor=1')
  const own = { trace_id: traceId, span_id: read?.spanContext().spanId }
  t.match(line, own, 'the log line names the span of the call')
  const ann = await connect(t, 'rest', server.url, 'ann')
  const { hash } = await ann.call('async_read', { path: 'f' })
  await ann.call('async_update', { path: 'f', expected_hash: hash, content: 'two\n' })
  await ann.call('async_update', { path: 'f', expected_hash: hash, content: 'three\n' })
  await ann.call('async_read', { path: 'missing' })
  const [, , late, failed] = await spans(4)
  t.match(late?.attributes, { 'async_crud.result': 'contention' })
  t.equal(late?.parentSpanContext, undefined, 'without a caller that traces, it is the first of a trace')
  t.match(failed?.attributes, { 'async_crud.result': 'FILE_NOT_FOUND' })
  t.equal(failed?.status.code, SpanStatusCode.UNSET, 'a mistake of the caller is no error of the server')
})

t.test('waits for locks are events of the span', async (t) => {
  const spans = register(t)
  const tree = makeTree(t, { f: 'one\n' })
  const server = await startServer(t, tree.root)
  const lock = await holdLock(server, tree.path('f'))
  const ann = await connect(t, 'rest', server.url, 'ann')
  const waiting = ann.call('async_append', { path: 'f', content: 'two\n' })
  await untilWaiting(server, 1)
  lock.release()
  await waiting
  const [append] = await spans(1)
  t.match(append?.events, [{ name: 'lock wait', attributes: { 'async_crud.result': 'ok' } }])
  t.ok(Number(append?.events[0]?.attributes?.['async_crud.wait_seconds']) > 0)
})

t.test('a span that is active in the trace of the caller is the parent', async (t) => {
  const spans = register(t)
  const inner = { traceId, spanId: '00000000000000aa', traceFlags: 1 }
  let active: Context = trace.setSpanContext(ROOT_CONTEXT, inner)
  const manager = {
    active: () => active,
    with: (_context: Context, use: (...args: unknown[]) => unknown, self: unknown, ...args: unknown[]) =>
      use.apply(self, args),
    bind: <Target>(_context: Context, target: Target) => target,
    enable: () => manager,
    disable: () => manager
  }
  context.setGlobalContextManager(manager as Parameters<typeof context.setGlobalContextManager>[0])
  t.teardown(() => context.disable())
  const server = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  await readWith(server, { traceparent })
  active = trace.setSpanContext(ROOT_CONTEXT, { ...inner, traceId: traceId.replace('0af', '1af') })
  await readWith(server, { traceparent })
  const parents = (await spans(2)).map(({ parentSpanContext }) => parentSpanContext?.spanId)
  t.strictSame(parents, [inner.spanId, spanId])
})

t.test('a trace goes through a relay, and the spans are sent before the program ends', async (t) => {
  const tree = makeTree(t, { f: 'one\n', spans: '' })
  const authority = await httpOn(t, tree, '--log-level', 'debug')
  const relay = await startProgram(t, ['--dir', tree.root], {
    NODE_OPTIONS: `--import ${installed('dist/suites/fixtures/spans-program.js')}`,
    SPANS_FILE: tree.path('spans')
  })
  const holder = stdioOn(t, tree)
  await call(holder, 'lock_try', { filepaths: ['f'] })
  const appended = fetch(`${relay.url}/async_append`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent },
    body: '{"path":"f","content":"two"}'
  })
  await untilQueued(authority.url, 'f', 1)
  await call(holder, 'lock_release_all', {})
  t.match(await (await appended).json(), { status: 'ok' })
  await relay.stop()
  const spans = readFileSync(tree.path('spans'), 'utf8').trim().split('\n')
  t.equal(spans.length, 1)
  const { own, ...span } = JSON.parse(spans[0] ?? '') as { own: { spanId: string } }
  t.match(span, {
    name: 'async_append',
    parent: { traceId, spanId },
    attributes: { 'async_crud.transport': 'rest' },
    events: [{ name: 'lock wait', attributes: { 'async_crud.result': 'ok' } }]
  })
  const line = authority.stderr.find((text) => text.includes('"async_append"'))
  t.match(JSON.parse(line ?? '{}'), { trace_id: traceId, span_id: own.spanId }, 'the log of the process that did it')
})

/** @returns waits until so many calls have ended, and answers their spans in order */
function register(t: Test): (count: number) => Promise<readonly ReadableSpan[]> {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  trace.setGlobalTracerProvider(provider)
  t.teardown(() => {
    trace.disable()
    propagation.disable()
  })
  return async (count) => {
    await provider.forceFlush()
    const spans = exporter.getFinishedSpans()
    t.equal(spans.length, count, 'a span a call')
    exporter.reset()
    return spans
  }
}
