// A wait with an end, in a process that is held up for longer than the wait may last.
import { lstat } from 'node:fs/promises'
import t from 'tap'
import { atMost } from '../../src/support/at-most.ts'

function holdUp(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

t.test('what has come while the process was held up is taken', async (t) => {
  const work = lstat('.').then(() => lstat('..'))
  const done = atMost(100, work)
  holdUp(300)
  t.ok((await done)?.isDirectory())
})

t.test('work that is not done in time is left', async (t) => {
  // The wait alone keeps no process running.
  const running = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(running))
  const start = performance.now()
  t.equal(await atMost(40, new Promise<true>(() => {})), undefined)
  t.ok(performance.now() - start >= 39, 'after its time')
})

t.test('a failure of the work is that of the wait', async (t) => {
  await t.rejects(atMost(1000, Promise.reject(new Error('broken'))), { message: 'broken' })
})
