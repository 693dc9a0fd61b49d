// The checker of hand-overs finds each fault in records that were written by hand, and nothing in a sound one.
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { checkRecord } from './check.ts'
import type { Call, Door, Record } from './record.ts'

const ok = { status: 'ok' }
const granted = (token: number): Answer => ({ ...ok, results: [{ acquired: true, fencing_token: token }] })
const taken = (holder: string): Answer => ({ ...ok, results: [{ acquired: false, holder }] })
const failed = (error_code: string): Answer => ({ status: 'error', error_code, message: 'a message' })

/** From `sentAt` on it takes 5 ms. */
function call(agent: string, sentAt: number, operation: string, answer: Answer | undefined, more: object = {}): Call {
  const answered = answer === undefined ? {} : { answer, answeredAt: sentAt + 5 }
  return { agent, door: `of ${agent}`, operation, file: 'a.txt', sentAt, ...answered, ...more }
}

function doorOf(agent: string, more: Partial<Door> = {}): Door {
  return { name: `of ${agent}`, bindsLeases: true, pauses: [], ...more }
}

function recordOf(calls: readonly Call[], content = '', doors: readonly Door[] = []): Record {
  const others = ['ann', 'bob'].filter((agent) => !doors.some(({ name }) => name === `of ${agent}`))
  return {
    calls,
    doors: [...doors, ...others.map((agent) => doorOf(agent))],
    files: [{ name: 'a.txt', content }],
    graceMs: 100,
    slackMs: 50
  }
}

const append = (agent: string, sentAt: number, answer: Answer | undefined, more: object = {}) =>
  call(agent, sentAt, 'async_append', answer, { line: `line of ${agent}`, timeoutMs: 20, ...more })
const release = (agent: string, sentAt: number) => call(agent, sentAt, 'lock_release', ok)
const wait = (agent: string, sentAt: number, answer: Answer, more: object = {}) =>
  call(agent, sentAt, 'lock_wait', answer, { timeoutMs: 20, ...more })
const ann = wait('ann', 0, granted(1))
const notice = { notices: [{ type: 'lease_lost', fencing_token: 1, message: 'it ended' }] }

const sound: readonly [title: string, record: Record][] = [
  ['one after the other', recordOf([ann, release('ann', 20), wait('bob', 22, granted(2)), release('bob', 40)])],
  ['a waiter that is told who holds', recordOf([ann, wait('bob', 10, taken('ann'), { answeredAt: 40 })])],
  [
    'a lease that ended with its connection',
    recordOf([ann, wait('bob', 30, granted(2)), call('ann', 60, 'lock_renew', { ...ok, ...notice })], '', [
      doorOf('ann', { endingAt: 20 })
    ])
  ],
  [
    'a lease whose process stood still all the grace time',
    recordOf([ann, wait('bob', 200, granted(2)), call('ann', 300, 'lock_renew', { ...ok, ...notice })], '', [
      doorOf('ann', { pauses: [{ from: 20, until: 190 }] })
    ])
  ],
  ['a change that was not answered, and made', recordOf([append('ann', 0, undefined)], 'line of ann\n')],
  ['a change that was not answered, and not made', recordOf([append('ann', 0, undefined)])],
  [
    'a change that was repeated',
    recordOf([append('ann', 0, undefined), append('ann', 20, { ...ok, replayed: true })], 'line of ann\n')
  ],
  ['a change that was refused', recordOf([append('ann', 0, failed('LOCK_TIMEOUT'), { answeredAt: 30 })])]
]

const faults: readonly [fault: RegExp, record: Record][] = [
  [/^two holders/, recordOf([ann, wait('bob', 10, granted(2))])],
  [/^one token/, recordOf([ann, release('ann', 20), wait('bob', 40, granted(1))])],
  [/^tokens do not grow/, recordOf([wait('ann', 0, granted(5)), release('ann', 20), wait('bob', 40, granted(4))])],
  [/^lost without a reason.*it ended/, recordOf([ann, call('ann', 20, 'lock_renew', { ...ok, ...notice })])],
  [/^lost without a reason/, recordOf([ann, call('ann', 20, 'lock_renew', { ...ok, results: [{ renewed: false }] })])],
  [/^lost without a reason/, recordOf([ann, wait('ann', 20, granted(2))])],
  [/^lost without a reason/, recordOf([ann, append('ann', 20, failed('LEASE_LOST'), { token: 1 })])],
  [
    /^written under another's lease/,
    recordOf([ann, append('bob', 10, ok), call('ann', 40, 'lock_renew', ok)], 'line of bob\n')
  ],
  [/names bob as the holder/, recordOf([wait('ann', 0, taken('bob'), { answeredAt: 40 })])],
  [
    /names bob as the holder/,
    recordOf([wait('bob', 0, granted(1)), release('bob', 10), wait('ann', 20, taken('bob'), { answeredAt: 60 })])
  ],
  [
    /names ann as the holder/,
    recordOf([ann, wait('bob', 30, taken('ann'), { answeredAt: 60 })], '', [
      doorOf('ann', { endingAt: 20, leftAt: 25 })
    ])
  ],
  [/^sent away before its time/, recordOf([ann, wait('bob', 10, taken('ann'))])],
  [/took 95 ms/, recordOf([wait('ann', 5, granted(1), { answeredAt: 100 })])],
  [/was answered AUTHORITY_LOST/, recordOf([wait('ann', 0, failed('AUTHORITY_LOST'))])],
  [/was answered OVERLOADED/, recordOf([append('ann', 0, failed('OVERLOADED'))])],
  [/was answered LOCK_TIMEOUT/, recordOf([append('ann', 0, failed('LOCK_TIMEOUT'))])],
  [/^acknowledged, and not in the file/, recordOf([append('ann', 0, ok)])],
  [/^2 times in the file/, recordOf([append('ann', 0, ok)], 'line of ann\nline of ann\n')],
  [/^2 times in the file/, recordOf([append('ann', 0, undefined)], 'line of ann\nline of ann\n')],
  [/^refused, and in the file/, recordOf([append('ann', 0, { status: 'contention' })], 'line of ann\n')],
  [/^nobody wrote/, recordOf([], 'line of ann\n')]
]

t.test('a sound record has no violation', async (t) => {
  for (const [title, record] of sound) t.strictSame(checkRecord(record), [], title)
})

t.test('each fault is one violation', async (t) => {
  for (const [fault, record] of faults) {
    const violations = checkRecord(record)
    t.match(violations, [fault], violations.join('; '))
    t.equal(violations.length, 1, String(fault))
  }
})
