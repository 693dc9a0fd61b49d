// Mutants of src/engine/locks that may live, and why: no caller can see what they change.

const shortcut = 'It is a shortcut: without it the outcome is the same, and takes longer.'
const nothing = 'Where it makes a difference there is nothing to do, and nothing is done.'
const memory = 'It keeps an entry that no answer shows.'
const never = 'It decides a case that does not come up: the types have it, the callers do not.'
const unread = 'Nobody reads what it is then, only what it is not.'
const equal = 'The two are not equal here, or both outcomes are the same if they are.'
const again = 'It looks once more, and finds that all is done.'

/** For each file its reasons, each with code and all that it or a part of it becomes. */
const byFile = {
  acquisition: [[equal, ['one.key < other.key', 'one.key <= other.key']]],
  agents: [
    [
      shortcut,
      [
        'return leases.size > 0 || leaseWaits > (acquisition.isLease && waits.has(acquisition) ? 1 : 0)',
        'true',
        'leases.size >= 0',
        'leaseWaits >= (acquisition.isLease && waits.has(acquisition) ? 1 : 0)',
        'false'
      ],
      ['if (acquisition.isLease) entries.leaseWaits += 1', 'true'],
      ['if (acquisition.isLease) entries.leaseWaits -= 1', 'true', 'false', 'entries.leaseWaits += 1']
    ],
    [never, ["acquisition.agentId ?? ''", '"Stryker was here!"']],
    [nothing, ['wait instanceof LeaseAcquisition', 'true']],
    [
      memory,
      ['if (acquisition.agentId === undefined) return', 'false'],
      ['if (agentId === undefined) return', 'false'],
      [
        `{ const { leases, waits } = this.#entriesOf(agentId)
          if (leases.size === 0 && waits.size === 0) this.#entries.delete(agentId) }`,
        '{}',
        'false'
      ]
    ]
  ],
  clock: [
    [equal, ['Math.abs(now - offsetMs) > stepMs', 'Math.abs(now - offsetMs) >= stepMs']],
    [
      'No real time passes in these checks. The test of the system clock is in test/engine/locks/lock-manager.test.ts.',
      ['(callback, ms) => setTimeout(callback, ms).unref()', '() => undefined'],
      ['(handle) => clearTimeout(handle as NodeJS.Timeout)', '() => undefined']
    ]
  ],
  deadlines: [
    [
      equal,
      ['entry.dueAt < this.#armedFor', 'entry.dueAt <= this.#armedFor'],
      ['one.ticket < other.ticket', 'one.ticket <= other.ticket']
    ],
    [nothing, ['this.#timer !== undefined', 'true'], ['slot > 0', 'slot >= 0']],
    [never, ['last === undefined', 'false'], ['parent === undefined', 'false'], ['left !== undefined', 'true']]
  ],
  errors: [
    [
      never,
      ["if (first === undefined) return 'Others are ahead in its queue.'", 'false', '""'],
      ["expiresAt === undefined ? ''", 'false', '"Stryker was here!"'],
      ['first?.isLease !== true', 'first.isLease'],
      ['expiresAt !== undefined && isLease', 'true'],
      ["agentId = ''", '"Stryker was here!"']
    ],
    [nothing, ['expires_at: expiresAt === undefined', 'false']],
    [equal, ['Math.abs(ms) <= maxDateMs', 'Math.abs(ms) < maxDateMs']]
  ],
  'lease-manager': [
    [shortcut, ['agentId === undefined ? agents.leases()', 'true']],
    [
      'What is no lease is not held either, and left out in the end.',
      ['named.get(name) ?? []', '["Stryker was here"]'],
      ['queues.get(name)?.leases ?? []', '["Stryker was here"]']
    ]
  ],
  'lease-request': [
    [
      shortcut,
      ['options.onPosition !== undefined', 'true'],
      ['if (onPosition === undefined || !this.isWaiting) return', 'false']
    ],
    [never, ['this.#table.queues.get(this.key)?.follow', 'this.#table.queues.get(this.key).follow']],
    [nothing, ['this.#lease === this.acquisition) this.#table.leases.keepForGrace', 'true']]
  ],
  'lease-transitions': [
    [unread, ["this.#table.settle(request, 'released')", '""'], ["lease.state = 'expired'", '""']],
    [shortcut, ['if (queue.hasLeasesChanged) this.#table.promote(queue)', 'true']],
    [
      equal,
      ['expiresAt < lease.expiresAt', 'expiresAt <= lease.expiresAt'],
      ['expiresAt > lease.expiresAt', 'expiresAt >= lease.expiresAt']
    ],
    [never, ['request.onPark?.()', 'request.onPark()']],
    [
      'A request has one name or none; then a list is made anew.',
      ['more.every((name) => known.includes(name))', 'more.some(name => known.includes(name))']
    ]
  ],
  'lock-manager': [[memory, ['this.#table.watch === watch', 'false']]],
  'lock-table': [
    [
      shortcut,
      ['own !== undefined && entry.isLease', 'false'],
      [
        'entries.every((entry) => this.#queues.get(entry.key)?.isFreeFor(entry) ?? true)',
        'entries.some(entry => this.#queues.get(entry.key)?.isFreeFor(entry) ?? true)'
      ],
      ['if (!queue.hasLeasesChanged) return false', 'false'],
      ['queue.hasLeasesChanged = false', 'true']
    ],
    [unread, ["this.settle(acquisition, 'failed')", '""'], ["acquisition.state = 'released'", '""']],
    [
      never,
      ["if (queue !== undefined) this.watch?.releases(entry, queue, 'released')", 'true'],
      ['queue?.release(entry)', 'queue.release']
    ],
    [
      nothing,
      ['agentId !== undefined && this.agents', 'true'],
      ['acquisition instanceof LeaseAcquisition) this.agents.deleteLease', 'true']
    ],
    [again, ['if (victim === undefined) return false', 'true']]
  ],
  observer: [
    [again, ['if (this.#isReporting) return', 'false'], ['this.#isReporting = true', 'false']],
    [nothing, ["entry.state === 'out' ? undefined", 'false', '""']]
  ],
  positions: [
    [equal, ['listener.ticket > ticket', 'listener.ticket >= ticket']],
    [
      again,
      [
        'if (this.#isReporting || this.#listeners.size === 0) return',
        'false',
        'this.#isReporting && this.#listeners.size === 0'
      ],
      ['this.#isReporting = true', 'false']
    ]
  ],
  queue: [
    [
      shortcut,
      ['if (!this.#knowsLeases && !entry.isLease) return', 'false'],
      [
        'if (agentId === undefined || this.leases.length === 0) return undefined',
        'false',
        'agentId === undefined && this.leases.length === 0'
      ],
      ['if (entry.isLease) this.#leaseWaiters += 1', 'true'],
      ['this.#leaseWaiters -= 1', 'this.#leaseWaiters += 1'],
      [
        'this.leases.length > 0 || this.#leaseWaiters > 0',
        'true',
        'this.leases.length >= 0',
        'this.#leaseWaiters >= 0'
      ],
      ['this.#leaseWaiters < 2', 'false']
    ],
    [again, ['hasLeasesChanged = false', 'true']],
    [never, ['this.depth === 0 && this.holders.size === 0', 'true']],
    [
      nothing,
      ['if (standing !== undefined) this.#positions?.delete(standing)', 'true', 'this.#positions.delete'],
      ['if (entry.standing !== undefined) this.#positions?.delete(entry.standing)', 'true', 'this.#positions.delete']
    ],
    [never, ['this.#listen(entry, this.positionOf(entry)) this.#positions?.changed', 'this.#positions.changed']],
    [unread, ["entry.behind = undefined entry.state = 'out'", '""']]
  ],
  'wait-for': [
    [
      never,
      ['this.#queues.get(key)?.depth', 'this.#queues.get(key).depth'],
      ['other.waitsAt?.behind', 'other.waitsAt.behind']
    ],
    [
      shortcut,
      ['if (!this.#hasCycle(queue)) return undefined', 'false'],
      [
        'if (isDone.has(node) || !this.#isWaitedFor(entry.acquisition, queue)) continue',
        'false',
        'isDone.has(node) && !this.#isWaitedFor(entry.acquisition, queue)'
      ],
      ['isDone.set(last.node, true)', 'false'],
      ['else if (isDone.get(node) === false) return true', 'true'],
      ['return true } } return false', 'true'],
      [
        'if (agentId === undefined || !this.#agents.hasOtherLease(acquisition)) return false',
        'false',
        'agentId === undefined && !this.#agents.hasOtherLease(acquisition)'
      ],
      [
        'if (leases.size + waits.size > queue.depth) return true',
        'true',
        'false',
        'leases.size + waits.size >= queue.depth',
        'leases.size + waits.size <= queue.depth',
        'leases.size - waits.size'
      ],
      ['(this.#queues.get(key)?.depth ?? 0) > 0', 'true', '(this.#queues.get(key)?.depth ?? 0) >= 0'],
      [
        'if (other.isLease && other !== acquisition && other.waitsAt?.behind !== undefined) return true return false',
        'true',
        'other.isLease && other !== acquisition || other.waitsAt?.behind !== undefined',
        'other.isLease || other !== acquisition'
      ]
    ],
    [
      'Refusing a later waiter of the queue breaks a cycle, too; a property has the shortest one only where it comes later.',
      [
        'cycle.length < (victim?.cycle.length ?? Infinity)',
        'true',
        'cycle.length <= (victim?.cycle.length ?? Infinity)'
      ]
    ]
  ]
}

/**
 * Each names a file, code in it as it is, what that code or a part of it becomes in a mutant that lives, and the reason.
 * White space does not count. Every other mutant must die.
 */
export const survivors = Object.entries(byFile).flatMap(([file, reasons]) =>
  reasons.flatMap(([reason, ...places]) =>
    places.flatMap(([code, ...each]) => each.map((becomes) => ({ file, code, becomes, reason })))
  )
)
