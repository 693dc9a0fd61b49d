// A step of the wall clock changes what times answers show, and nothing about leases, lost ones, and changes that were made.
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { call } from '../../fixtures/processes.ts'
import { programPath } from '../../fixtures/server.ts'
import { startStdio, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const hourMs = 3_600_000
const ask = { filepaths: ['f'], agent_id: 'ann' }

/** The program under a wall clock that the file `offset` sets, while it runs. */
function startUnderClock(t: Test, tree: Tree, clock: Tree): StdioProgram {
  clock.write(
    'main.cjs',
    `const { readFileSync } = require('node:fs')
    const now = Date.now
    Date.now = () => now() + Number(readFileSync(${JSON.stringify(clock.path('offset'))}, 'utf8'))
    require(${JSON.stringify(programPath)})`
  )
  return startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { main: clock.path('main.cjs') })
}

/** Seconds that the lease lasts, by the times of one answer. */
function secondsLeft(answer: Answer): number {
  const [lease] = answer['results'] as Answer[]
  return (Date.parse(lease?.['expires_at']) - Date.parse(answer['timestamp'])) / 1000
}

for (const stepMs of [hourMs, -hourMs]) {
  t.test(`the wall clock is set by ${stepMs / hourMs} h: a lease stays, with the rest of its time`, async (t) => {
    const [tree, clock] = [makeTree(t, { f: 'one' }), makeTree(t, { offset: '0' })]
    const first = startUnderClock(t, tree, clock)
    await call(first, 'async_read', { path: 'f' })
    const second = startUnderClock(t, tree, clock)
    const granted = await call(second, 'lock_try', ask)
    const { fencing_token } = granted['results'][0]
    const isWhole = (answer: Answer) => secondsLeft(answer) > 200 && secondsLeft(answer) <= 300
    clock.write('offset', String(stepMs))
    const after = await call(second, 'lock_status', ask)
    t.ok(isWhole(after), `${secondsLeft(after)} s left after the step`)
    t.match(await call(second, 'lock_renew', ask), { all_renewed: true })
    await first.end('SIGKILL')
    const taken = await call(second, 'lock_status', ask)
    t.match(taken, { results: [{ held_by_me: true, fencing_token }] })
    t.ok(isWhole(taken), `${secondsLeft(taken)} s left in the next process`)
    const third = startUnderClock(t, tree, clock)
    await call(third, 'async_read', { path: 'f' })
    t.match(await call(third, 'lock_try', { ...ask, agent_id: 'bob' }), { results: [{ holder: 'ann' }] })
    const listed = await call(third, 'lock_status', ask)
    t.ok(isWhole(listed), `${secondsLeft(listed)} s left to another process`)
  })
}

const append = { path: 'f', content: '+', agent_id: 'ann', request_id: 'r' }

for (const stepMs of [hourMs, -hourMs]) {
  t.test(`the wall clock is set by ${stepMs / hourMs} h: a change that is asked for again is made once`, async (t) => {
    const [tree, clock] = [makeTree(t, { f: 'one' }), makeTree(t, { offset: '0' })]
    const first = startUnderClock(t, tree, clock)
    await call(first, 'async_read', { path: 'f' })
    const second = startUnderClock(t, tree, clock)
    const { hash } = await call(second, 'async_append', append)
    const repeatAt = async (program: StdioProgram) => {
      t.match(await call(program, 'async_append', append), { status: 'ok', hash })
      t.equal(tree.read('f'), 'one+')
    }
    clock.write('offset', String(stepMs))
    await repeatAt(second)
    await first.end('SIGKILL')
    await repeatAt(second)
    const third = startUnderClock(t, tree, clock)
    await call(third, 'async_read', { path: 'f' })
    clock.write('offset', String(3 * stepMs))
    await second.end('SIGKILL')
    await repeatAt(third)
  })
}

t.test('the wall clock is set by 2 h: a lease that was lost before stays lost', async (t) => {
  const [tree, clock] = [makeTree(t, { f: 'one' }), makeTree(t, { offset: '0' })]
  const first = startUnderClock(t, tree, clock)
  await call(first, 'async_read', { path: 'f' })
  const second = startUnderClock(t, tree, clock)
  const granted = await call(second, 'lock_try', { ...ask, ttl_seconds: 0.05 })
  // On a busy machine the lease ends before the answer is made, which tells of its end then.
  const { fencing_token } = granted['all_acquired'] === true ? granted['results'][0] : granted['notices'][0]
  const isFree = async () => (await call(second, 'lock_status', { filepaths: ['f'] }))['results'][0].holder === null
  await until(isFree)
  clock.write('offset', String(2 * hourMs))
  await first.end('SIGKILL')
  const { request_id: _, ...write } = append
  t.match(await call(second, 'async_append', write), { error_code: 'LEASE_LOST', details: { fencing_token } })
  t.equal(tree.read('f'), 'one')
})
