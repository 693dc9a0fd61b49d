// The checks themselves: a history in which everything is right passes, and each kind of violation is found in one that has it.
import t from 'tap'
import { checkHistory } from './checks.ts'
import type { AgentHistory, Call, Entry, History, Snapshot, Reply } from './history.ts'

const file = 'a.txt'
const other = 'b.txt'
const head = 'first\n'

function agent(id: string, calls: Omit<Call, 'n'>[], more: Partial<AgentHistory> = {}): AgentHistory {
  const numbered = calls.map((call, index) => ({ ...call, n: index + 1 }))
  return { id, transport: 'rest', ttlMs: 1000, cutMs: 500, calls: numbered, ...more }
}

function call(operation: string, sentAt: number, answeredAt: number, reply: Reply, ask: Partial<Call> = {}) {
  return { operation, files: [file], sentAt, answeredAt, reply, ...ask }
}

function granted(token: number, mode: 'shared' | 'exclusive' = 'exclusive', name = file): Reply {
  return { status: 'ok', outcomes: [{ file: name, acquired: true, token, mode }] }
}

function take(sentAt: number, answeredAt: number, token: number, mode: 'shared' | 'exclusive' = 'exclusive') {
  return call('lock_wait', sentAt, answeredAt, granted(token, mode), { mode })
}

function release(sentAt: number, answeredAt: number, ask: Partial<Call> = {}) {
  return call('lock_release', sentAt, answeredAt, { status: 'ok' }, ask)
}

function append(sentAt: number, answeredAt: number, marker: string, reply: Reply = { status: 'ok' }, token?: number) {
  return call('async_append', sentAt, answeredAt, reply, { marker, token })
}

function holder(agent: string, token: number, more: Partial<Entry> = {}): Entry {
  return { isLease: true, mode: 'exclusive', agent, since: 0, endsAt: 1000, token, isParked: false, ...more }
}

function waiter(agent: string, since: number, more: Partial<Entry> = {}): Entry {
  return { isLease: true, mode: 'exclusive', agent, since, endsAt: 5000, isParked: false, ...more }
}

function table(at: number, holders: Entry[], waiters: Entry[] = [], name = file): Snapshot {
  return { sentAt: at, receivedAt: at + 1, serverTime: at, files: [{ file: name, holders, waiters }] }
}

/** The same table again and again. */
function looks(count: number, from: number, stepMs: number, holders: Entry[], waiters: Entry[] = []): Snapshot[] {
  return Array.from({ length: count }, (_, index) => table(from + index * stepMs, holders, waiters))
}

function history(agents: AgentHistory[], snapshots: Snapshot[] = [], more: Partial<History> = {}): History {
  return { agents, snapshots, files: [], graceMs: 1000, longestWaitMs: 2000, emptyAfterMs: 0, ...more }
}

function written(...markers: string[]) {
  return { files: [{ name: file, before: head, after: head + markers.map((marker) => `${marker}\n`).join('') }] }
}

const deadlock = (cycle: Reply['cycle']): Reply => ({ status: 'error', code: 'DEADLOCK', message: 'circle', cycle })

t.test('a history in which everything is right has no violation', async (t) => {
  const one = agent('one', [
    take(0, 10, 1),
    append(20, 30, '[one 2 1]', { status: 'ok' }, 1),
    release(40, 50),
    append(60, 70, '[one 4 1]', { status: 'error', code: 'LEASE_LOST', message: 'over' }, 1)
  ])
  const two = agent('two', [take(15, 60, 2), append(61, 69, '[two 2 2]', { status: 'ok' }, 2), release(80, 90)])
  const snapshots = [table(20, [holder('one', 1)], [waiter('two', 15)]), table(62, [holder('two', 2)])]
  const right = history([one, two], snapshots, written('[one 2 1]', '[two 2 2]'))
  t.strictSame(checkHistory(right), [])
})

const violations: Record<string, { found: RegExp; history: History }> = {
  'two agents certain of an exclusive lease at one time': {
    found: /^lease 2 of two on a.txt and lease 1 of one on a.txt held for 30.0 ms$/,
    history: history([agent('one', [take(0, 10, 1), release(50, 60)]), agent('two', [take(5, 20, 2), release(90, 95)])])
  },
  'a shared lease beside an exclusive one': {
    found: /^lease 2 of two on a.txt and lease 1 of one/,
    history: history([
      agent('one', [take(0, 10, 1, 'shared'), release(50, 60)]),
      agent('two', [take(5, 20, 2), release(90, 95)])
    ])
  },
  'one fencing token for two leases': {
    found: /^fencing token 1 was given twice/,
    history: history([
      agent('one', [take(0, 10, 1), release(20, 30)]),
      agent('two', [take(40, 50, 1), release(60, 70)])
    ])
  },
  'a fencing token that does not grow': {
    found: /^lease 1 of two on a.txt was asked for after lease 2 of one on a.txt had been granted$/,
    history: history([
      agent('one', [take(0, 10, 2), release(20, 30)]),
      agent('two', [take(40, 50, 1), release(60, 70)])
    ])
  },
  'two holders in one table': {
    found: /^a.txt: one and two hold it together/,
    history: history([agent('one', []), agent('two', [])], [table(10, [holder('one', 1), holder('two', 2)])])
  },
  'a write beside the lease of another in one table': {
    found: /^a.txt: one and two hold it together/,
    history: history(
      [agent('one', []), agent('two', [])],
      [table(10, [holder('one', 1), holder('two', 2, { isLease: false })])]
    )
  },
  'a lease that its holder is certain of, and the table does not have': {
    found: /^lease 1 of one on a.txt was not in the table of 21.0 ms$/,
    history: history([agent('one', [take(0, 10, 1), release(50, 60)])], [table(20, [])])
  },
  'an exclusive lease that is shared in the table': {
    found: /^lease 1 of one on a.txt was shared in the table/,
    history: history(
      [agent('one', [take(0, 10, 1), release(50, 60)])],
      [table(20, [holder('one', 1, { mode: 'shared' })])]
    )
  },
  'a lease that stays after its release': {
    found: /^a.txt: one has released it, yet is in the table of 70.0 ms$/,
    history: history([agent('one', [take(0, 10, 1), release(50, 60)])], [table(70, [holder('one', 1)])])
  },
  'a waiter granted before the one ahead of it, who still waits': {
    found: /^a.txt: three was granted before two, who stood ahead of it$/,
    history: history(
      [agent('one', []), agent('two', []), agent('three', [])],
      [
        table(10, [holder('one', 1)], [waiter('two', 5), waiter('three', 6)]),
        table(20, [holder('three', 2)], [waiter('two', 5)])
      ]
    )
  },
  'a waiter granted before the one ahead of it, by their tokens': {
    found: /^a.txt: three got token 2, two, who stood ahead of it, 3$/,
    history: history(
      [
        agent('one', []),
        agent('two', [take(5, 100, 3), release(110, 120)]),
        agent('three', [take(6, 50, 2), release(60, 70)])
      ],
      [table(10, [holder('one', 1)], [waiter('two', 5), waiter('three', 6)])]
    )
  },
  'one who came later and stands ahead': {
    found: /^a.txt: two lost its place in the line to one who came later$/,
    history: history(
      [agent('one', []), agent('two', []), agent('three', [])],
      [
        table(10, [holder('one', 1)], [waiter('two', 5)]),
        table(20, [holder('one', 1)], [waiter('three', 15), waiter('two', 5)])
      ]
    )
  },
  'a circle that nobody breaks': {
    found: /^a circle in the table of 11.0 ms: two -> one -> two$/,
    history: history(
      [agent('one', []), agent('two', [])],
      [
        {
          ...table(10, []),
          files: [
            { file, holders: [holder('one', 1)], waiters: [waiter('two', 5)] },
            { file: other, holders: [holder('two', 2)], waiters: [waiter('one', 6)] }
          ]
        }
      ]
    )
  },
  'a circle through the write of an agent': {
    found: /^a circle in the table of 11.0 ms: /,
    history: history(
      [agent('one', []), agent('two', [])],
      [
        {
          ...table(10, []),
          files: [
            { file, holders: [holder('one', 1)], waiters: [waiter('two', 5, { isLease: false })] },
            { file: other, holders: [holder('two', 2)], waiters: [waiter('one', 6)] }
          ]
        }
      ]
    )
  },
  'a deadlock answered late': {
    found: /^DEADLOCK of one at b.txt took 121000.0 ms$/,
    history: history([
      agent('one', [
        take(0, 10, 1),
        call(
          'lock_wait',
          20,
          121_020,
          deadlock([
            { agent: 'one', file: other },
            { agent: 'two', file }
          ]),
          { files: [other] }
        )
      ]),
      agent('two', [
        call('lock_wait', 0, 10, granted(2, 'exclusive', other), { files: [other] }),
        call('lock_wait', 15, 121_030, granted(3))
      ])
    ])
  },
  'a deadlock with somebody who did not wait': {
    found: /^DEADLOCK of one, circle one -> b.txt -> two -> a.txt: two did not wait for a.txt$/,
    history: history([
      agent('one', [
        take(0, 10, 1),
        call(
          'lock_wait',
          20,
          30,
          deadlock([
            { agent: 'one', file: other },
            { agent: 'two', file }
          ]),
          { files: [other] }
        )
      ]),
      agent('two', [call('lock_wait', 0, 10, granted(2, 'exclusive', other), { files: [other] })])
    ])
  },
  'a deadlock with somebody who holds nothing': {
    found: /^DEADLOCK of one, circle one -> b.txt -> two -> a.txt: two had nothing to do with b.txt$/,
    history: history([
      agent('one', [
        take(0, 10, 1),
        call(
          'lock_wait',
          20,
          30,
          deadlock([
            { agent: 'one', file: other },
            { agent: 'two', file }
          ]),
          { files: [other] }
        )
      ]),
      agent('two', [call('lock_wait', 15, 60, { status: 'ok' })])
    ])
  },
  'a lease in the table after its end': {
    found: /^a.txt: one, token 1: its lease should have ended 1000.0 ms ago$/,
    history: history([agent('one', [])], looks(4, 1400, 200, [holder('one', 1)]))
  },
  'a lease that lasts longer than was asked for': {
    found: /^a.txt: one, token 1: its lease lasts 7990.0 ms longer than it asked for$/,
    history: history([agent('one', [])], [table(10, [holder('one', 1, { endsAt: 9000 })])])
  },
  'a lease of one who was killed long ago': {
    found: /^a.txt: one is in the table, although it was killed long before$/,
    history: history(
      [agent('one', [], { killedAt: 0, goneAt: 0 })],
      Array.from({ length: 50 }, (_, index) => 50 * index).map((at) =>
        table(at, [holder('one', 1, { endsAt: at + 900 })])
      )
    )
  },
  'a place in line of one who was killed long ago': {
    found: /^a.txt: one is in the table, although it was killed long before$/,
    history: history(
      [agent('one', [], { killedAt: 0, goneAt: 0 }), agent('two', [], { ttlMs: 5000 })],
      looks(24, 50, 50, [holder('two', 1, { endsAt: 5000 })], [waiter('one', 0)])
    )
  },
  'a lease lost before its TTL': {
    found: /^lease 1 of one on a.txt was lost 970.0 ms before its time$/,
    history: history(
      [
        agent('one', [
          take(0, 10, 1),
          append(20, 30, '[one 2 1]', { status: 'error', code: 'LEASE_LOST', message: 'over' }, 1)
        ])
      ],
      [],
      written()
    )
  },
  'a write with the token of a lease that was released': {
    found: /^a.txt: one wrote with token 1, which it had released$/,
    history: history(
      [agent('one', [take(0, 10, 1), release(20, 30), append(40, 50, '[one 3 1]', { status: 'ok' }, 1)])],
      [],
      written('[one 3 1]')
    )
  },
  'a write with the token of a lease whose time is over': {
    found: /^a.txt: one wrote with token 1 after 1490.0 ms of silence, its TTL is 1000$/,
    history: history(
      [agent('one', [take(0, 10, 1), append(1500, 1510, '[one 2 1]', { status: 'ok' }, 1)])],
      [],
      written('[one 2 1]')
    )
  },
  'an acknowledged write that is not in the file': {
    found: /^a.txt: \[one 1 no lease\] was acknowledged, and is there 0 times$/,
    history: history([agent('one', [append(0, 10, '[one 1 no lease]')])], [], written())
  },
  'an acknowledged write that is there twice': {
    found: /is there 2 times$/,
    history: history(
      [agent('one', [append(0, 10, '[one 1 no lease]')])],
      [],
      written('[one 1 no lease]', '[one 1 no lease]')
    )
  },
  'a refused write that is in the file': {
    found: /^a.txt: \[one 1 no lease\] is there, although it was answered LOCK_TIMEOUT$/,
    history: history(
      [agent('one', [append(0, 10, '[one 1 no lease]', { status: 'error', code: 'LOCK_TIMEOUT', message: 'late' })])],
      [],
      written('[one 1 no lease]')
    )
  },
  'a write that nobody sent': {
    found: /^a.txt: \[one 1 no lease\] is there, and nobody has sent it$/,
    history: history([agent('one', [])], [], written('[one 1 no lease]'))
  },
  'bytes that nobody sent': {
    found: /^a.txt: there is more in it/,
    history: history([agent('one', [])], [], { files: [{ name: file, before: head, after: `${head}torn` }] })
  },
  'an older token behind a newer one': {
    found: /^a.txt: \[one 2 1\] stands behind \[two 2 2\]$/,
    history: history(
      [
        agent('one', [take(0, 10, 1), append(20, 30, '[one 2 1]', { status: 'ok' }, 1), release(31, 32)]),
        agent('two', [take(15, 40, 2), append(41, 42, '[two 2 2]', { status: 'ok' }, 2), release(43, 44)])
      ],
      [],
      written('[two 2 2]', '[one 2 1]')
    )
  },
  'a write in the midst of those under a lease': {
    found: /^a.txt: \[two 1 no lease\] stands between two writes of one under token 1$/,
    history: history(
      [
        agent('one', [
          take(0, 10, 1),
          append(20, 30, '[one 2 1]', { status: 'ok' }, 1),
          append(40, 50, '[one 3 1]', { status: 'ok' }, 1),
          release(60, 70)
        ]),
        agent('two', [append(5, 90, '[two 1 no lease]')])
      ],
      [],
      written('[one 2 1]', '[two 1 no lease]', '[one 3 1]')
    )
  },
  'a write made while another held a lease': {
    found: /^a.txt: \[two 1 no lease\] was written under lease 1 of one on a.txt$/,
    history: history(
      [agent('one', [take(0, 10, 1), release(60, 70)]), agent('two', [append(20, 30, '[two 1 no lease]')])],
      [],
      written('[two 1 no lease]')
    )
  },
  'contention for the holder of a lease': {
    found: /^a.txt: contention for \[one 3 1\]: somebody wrote under lease 1 of one on a.txt/,
    history: history(
      [
        agent('one', [
          take(0, 10, 1),
          call('async_read', 20, 30, { status: 'ok' }),
          call('async_update', 40, 50, { status: 'contention' }, { marker: '[one 3 1]', token: 1, basedOnSentAt: 20 }),
          release(60, 70)
        ])
      ],
      [],
      written()
    )
  },
  'a call that is never answered': {
    found: /^lock_wait of one on a.txt was never answered$/,
    history: history([agent('one', [{ operation: 'lock_wait', files: [file], sentAt: 0 }])])
  },
  'a call that is answered long after its timeout': {
    found: /^lock_wait of one on a.txt took 200000.0 ms$/,
    history: history([agent('one', [call('lock_wait', 0, 200_000, { status: 'ok' })])])
  },
  'an answer that nobody could expect': {
    found: /^lock_wait of one on a.txt was answered SERVER_ERROR: broken$/,
    history: history([
      agent('one', [call('lock_wait', 0, 10, { status: 'error', code: 'SERVER_ERROR', message: 'broken' })])
    ])
  },
  'a ticket whose place was not kept': {
    found: /^lock_wait of one on a.txt was answered INVALID_REQUEST: no place$/,
    history: history([
      agent('one', [
        call('lock_wait', 0, 500, { status: 'ok', ticket: 'x' }),
        call('lock_wait', 510, 520, { status: 'error', code: 'INVALID_REQUEST', message: 'no place' }, { ticket: 'x' })
      ])
    ])
  },
  'a waiter whom nobody blocks': {
    found: /^a.txt: two waits since 5, and nobody is in its way$/,
    history: history([agent('two', [])], [table(10, [], [waiter('two', 5)])])
  },
  'something left at the end': {
    found: /^locks or waiters are left/,
    history: history([], [], { emptyAfterMs: undefined })
  }
}

for (const [what, { found, history }] of Object.entries(violations)) {
  t.test(`found: ${what}`, async (t) => {
    const all = checkHistory(history)
    t.match(all[0], found)
    t.equal(all.length, 1, `no other: ${all.slice(1).join('; ')}`)
  })
}

t.test('what is late on a machine that stood still is no violation: the server has had no turn for it', async (t) => {
  const late = [table(20_000, [holder('one', 1)]), table(20_001, [holder('one', 1)])]
  t.strictSame(checkHistory(history([agent('one', [])], late)), [])
  const gone = agent('one', [], { killedAt: 0, goneAt: 10 })
  const queue = table(20_000, [holder('two', 2, { endsAt: 20_500 })], [waiter('one', 0)])
  t.strictSame(checkHistory(history([gone, agent('two', [])], [queue])), [])
})

t.test('who holds a lease may pass those who ask for one, and who leaves the line is not overtaken', async (t) => {
  const agents = ['one', 'two', 'three'].map((id) => agent(id, []))
  const shared = { mode: 'shared', endsAt: 5000 } as const
  const upgrade = [
    table(10, [holder('one', 1, shared), holder('three', 2, shared)], [waiter('two', 5), waiter('three', 6)]),
    table(20, [holder('three', 2, { endsAt: 5000 })], [waiter('two', 5)])
  ]
  const left = [
    table(30, [holder('one', 3)], [waiter('two', 25), waiter('three', 26)]),
    table(40, [holder('three', 4)], [waiter('two', 35)])
  ]
  const long = agents.map((agent) => ({ ...agent, ttlMs: 10_000 }))
  t.strictSame(checkHistory(history(long, [...upgrade, ...left])), [])
})
