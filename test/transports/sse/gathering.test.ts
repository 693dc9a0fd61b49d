// The events of one stream: the first is sent at once, those that follow closely are sent together.
import { once } from 'node:events'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import type { TreeEvent } from '../../../src/engine/events/tree-event.ts'
import { createEventStream } from '../../../src/transports/sse/event-stream.ts'

const eventOf = (number: number): TreeEvent => ({
  id: `s-${number}`,
  type: 'file_changed',
  at: '2026-01-01T00:00:00.000Z',
  path: `/${number}`,
  agent_id: 'ann',
  operation: 'async_write',
  hash: null
})

/** A client that reads all at once. */
function openStream(t: Test, maxBytes: number) {
  const ids: string[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      ids.push(/^id: (.*)$/m.exec(String(chunk))?.[1] ?? '')
      output.emit('written')
      done()
    }
  })
  const gap: TreeEvent = { id: 'gap', type: 'gap', at: '2026-01-01T00:00:00.000Z', reason: 'too_slow' }
  const stream = createEventStream({ output, maxBytes, makeGap: () => gap, onEnd: () => {} })
  t.teardown(() => output.destroy())
  return { ids, output, stream }
}

t.test('the first event is sent at once, the next ones soon after it, together', async (t) => {
  const { ids, output, stream } = openStream(t, 10_000)
  stream.send(eventOf(1))
  t.same(ids, ['s-1'])
  stream.send(eventOf(2))
  stream.send(eventOf(3))
  t.same(ids, ['s-1'])
  await once(output, 'written')
  t.same(ids, ['s-1', 's-2', 's-3'])
})

t.test('more events at once than may be unread do not end a stream that is read', async (t) => {
  const { ids, stream } = openStream(t, 1000)
  for (let number = 1; number <= 50; number += 1) stream.send(eventOf(number))
  stream.close()
  t.same(
    ids,
    Array.from({ length: 50 }, (_, index) => `s-${index + 1}`),
    'all of them, the last ones before the end'
  )
})
