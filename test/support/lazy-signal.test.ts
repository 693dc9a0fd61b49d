// A signal that is made late does what one of Node does.
import { once } from 'node:events'
import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { anySignal, LazyAbort } from '../../src/support/lazy-signal.ts'

const reason = new Error('gone')

for (const [name, begin] of [
  ['a signal of Node', () => new AbortController()],
  ['a lazy signal', () => new LazyAbort()]
] as const) {
  t.test(`${name} is not aborted, then aborted for good with its first reason`, async (t) => {
    const controller = begin()
    const { signal } = controller
    t.strictSame([signal.aborted, signal.reason], [false, undefined])
    t.doesNotThrow(() => signal.throwIfAborted())
    controller.abort(reason)
    controller.abort(new Error('second'))
    t.strictSame([signal.aborted, signal.reason], [true, reason])
    t.throws(() => signal.throwIfAborted(), reason)
  })

  t.test(`${name} without a reason aborts with an AbortError`, async (t) => {
    const controller = begin()
    controller.abort()
    t.match(controller.signal.reason, { name: 'AbortError' })
  })

  t.test(`${name} calls those who listen, once, and not those who have left`, async (t) => {
    const controller = begin()
    const { signal } = controller
    const heard: string[] = []
    const left = () => heard.push('left')
    signal.removeEventListener('abort', left)
    signal.addEventListener('abort', left)
    signal.addEventListener('abort', () => heard.push('once'), { once: true })
    signal.onabort = () => heard.push('handler')
    signal.addEventListener('abort', { handleEvent: ({ type }) => heard.push(type) })
    signal.removeEventListener('abort', left)
    controller.abort(reason)
    controller.abort(reason)
    t.strictSame(heard, ['once', 'handler', 'abort'])
    signal.addEventListener('abort', () => heard.push('late'))
    t.equal(heard.length, 3, 'a listener that comes afterwards is not called')
    signal.dispatchEvent(new Event('abort'))
    t.equal(heard.at(-1), 'late')
    t.equal(typeof signal.onabort, 'function')
  })

  t.test(`${name} ends what waits for one of several`, async (t) => {
    const controller = begin()
    const signal = anySignal(new AbortController().signal, controller.signal)
    t.notOk(signal.aborted)
    controller.abort(reason)
    t.equal(signal.reason, reason)
    t.equal(anySignal(controller.signal).reason, reason, 'one that was aborted before')
  })

  t.test(`${name} ends waits of Node`, async (t) => {
    const controller = begin()
    const { signal } = controller
    const waits = [delay(60_000, undefined, { signal }), once(new EventEmitter(), 'never', { signal })]
    controller.abort(reason)
    for (const wait of waits) await t.rejects(wait, { name: 'AbortError' })
    await t.rejects(delay(60_000, undefined, { signal }), { name: 'AbortError' }, 'one that begins afterwards')
  })
}
