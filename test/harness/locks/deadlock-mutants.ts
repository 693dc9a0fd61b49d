// Faults of the search for circles, and of when it is made.
import type { Mutant } from './mutant-loader.ts'

export const deadlockMutants: readonly Mutant[] = [
  {
    fault: 'nobody looks for a circle when somebody comes',
    file: 'lock-table',
    edits: [
      [
        'const cycle = findCycle(place, queue, this.agents);\n        return cycle === undefined',
        'const cycle = undefined;\n        return cycle === undefined'
      ]
    ],
    breaks:
      'of two agents that wait for each other\u2019s leases the second is refused with the circle, and keeps its leases',
    foundByHistories: true
  },
  {
    fault: 'nobody looks for a circle when leases come and go',
    file: 'lock-table',
    edits: [['if (!queue.hasLeasesChanged)\n            return false;', 'if (queue)\n            return false;']],
    breaks: 'a circle that closes although nobody comes, since one who was passed is granted, is found in that turn'
  },
  {
    fault: 'a lease that comes does not count as a change',
    file: 'queue',
    edits: [
      [
        'this.leases.push(place.acquisition);\n            this.hasLeasesChanged = true;',
        'this.leases.push(place.acquisition);'
      ],
      ['this.#leaseWaiters -= 1;\n            this.hasLeasesChanged = true;', 'this.#leaseWaiters -= 1;']
    ],
    breaks: 'a circle that closes although nobody comes, since one who was passed is granted, is found in that turn'
  },
  {
    fault: 'a lease that goes does not count as a change',
    file: 'queue',
    edits: [
      [
        'this.leases.splice(this.leases.indexOf(place.acquisition), 1);\n            this.hasLeasesChanged = true;',
        'this.leases.splice(this.leases.indexOf(place.acquisition), 1);'
      ]
    ],
    breaks: 'a circle that closes since a lease ends that let its agent pass is found in that turn'
  },
  {
    fault: 'a request that leaves does not count as a change',
    file: 'queue',
    edits: [['this.#leaseWaiters -= 1;\n            this.hasLeasesChanged = true;', 'this.#leaseWaiters -= 1;']],
    breaks: 'a circle that closes since a request leaves whose lease would have opened it is found in that turn'
  },
  {
    fault: 'an upgrade does not count as a change',
    file: 'queue',
    edits: [['lease.place.mode = mode;\n        this.hasLeasesChanged = true;', 'lease.place.mode = mode;']],
    breaks: 'a circle that closes since an upgrade is granted at once is found at once'
  },
  {
    fault: 'an upgrade granted at once is not looked at',
    file: 'lock-table',
    edits: [['if (queue.hasLeasesChanged)\n            this.#promote(queue);', '']],
    breaks: 'a circle that closes since an upgrade is granted at once is found at once'
  },
  {
    fault: 'one circle is broken, and no other in that turn',
    file: 'lock-table',
    edits: [
      [
        'queue.hasLeasesChanged = true;\n        this.fail(victim.place.acquisition',
        'this.fail(victim.place.acquisition'
      ]
    ],
    breaks: 'of several circles that close at once each is broken'
  },
  {
    fault: 'the first in line leaves, however long his circle',
    file: 'lock-table',
    edits: [['cycle.length < (victim?.cycle.length ?? Infinity)', 'victim === undefined']],
    breaks: 'who stands between those of a circle does not leave for it, whatever leases he has that nobody waits for'
  },
  {
    fault: 'who is refused for a circle keeps those behind him waiting',
    file: 'lock-table',
    edits: [['while (this.#breakCycle(queue));', 'while (this.#breakCycle(queue) && false);']],
    breaks: 'of several circles that close at once each is broken'
  },
  {
    fault: 'an agent waits for one thing at a time',
    file: 'wait-for',
    edits: [
      [
        "typeof node === 'string' ? agents.waitsOf(node) : [node]",
        "typeof node === 'string' ? [...agents.waitsOf(node)].slice(0, 1) : [node]"
      ]
    ],
    breaks: 'all that an agent asks for in one turn counts as its waits, and only what closes a circle is refused'
  },
  {
    fault: 'an agent does not wait for what its operations wait for',
    file: 'wait-for',
    edits: [
      [
        "typeof node === 'string' ? agents.waitsOf(node) : [node]",
        "typeof node === 'string' ? [...agents.waitsOf(node)].filter(({ isLease }) => isLease) : [node]"
      ]
    ],
    breaks: 'a write waits for a lease as another lease does, and its agent with it',
    foundByHistories: true
  },
  {
    fault: 'an operation is its agent',
    file: 'wait-for',
    edits: [['return isLease ? acquisition.agentId : acquisition;', 'return acquisition.agentId ?? acquisition;']],
    breaks: 'an operation that runs waits for nobody, whatever else its agent waits for',
    foundByHistories: true
  },
  {
    fault: 'the search begins at leases alone',
    file: 'wait-for',
    edits: [['if (granted > 0)', 'if (false)']],
    breaks: 'a circle through an operation with two paths is found, whoever closes it, also amid a promotion',
    foundByHistories: true,
    seed: 17
  },
  {
    fault: 'who holds no lease yet is in nobody\u2019s way',
    file: 'agents',
    edits: [
      ['leases.size > 0 || leaseWaits > (acquisition.isLease && waits.has(acquisition) ? 1 : 0)', 'leases.size > 0']
    ],
    breaks: 'a circle of agents that only wait is found, where one asks for two paths',
    foundByHistories: true,
    seed: 3
  },
  {
    fault: 'a circle closes with the operation alone',
    file: 'wait-for',
    edits: [['node === acquisition || node === acquisition.agentId', 'node === acquisition']],
    breaks:
      'of two agents that wait for each other\u2019s leases the second is refused with the circle, and keeps its leases',
    foundByHistories: true
  },
  {
    fault: 'a circle closes with the agent alone',
    file: 'wait-for',
    edits: [['node === acquisition || node === acquisition.agentId', 'node === acquisition.agentId']],
    breaks: 'a circle through an operation with two paths is found, whoever closes it, also amid a promotion',
    foundByHistories: true,
    seed: 17
  },
  {
    fault: 'the first circle found is named',
    file: 'wait-for',
    edits: [
      [
        'steps.push({ place: next, queue: next.queue, from: step });',
        'steps.splice(steps.indexOf(step) + 1, 0, { place: next, queue: next.queue, from: step });'
      ]
    ],
    breaks: 'a circle of three agents is found where it closes, and the shortest one is named',
    foundByHistories: true,
    seed: 42
  },
  {
    fault: 'only holders are waited for',
    file: 'wait-for',
    edits: [
      [
        'for (const blocker of step.queue.blockersOf(step.place)) {',
        'for (const blocker of step.queue.blockersOf(step.place)) {\n            if (!step.queue.holders.has(blocker))\n                continue;'
      ]
    ],
    breaks: 'who waits behind a waiter waits for all that the waiter waits for',
    foundByHistories: true,
    seed: 49
  },
  {
    fault: 'a parked request waits no more',
    file: 'wait-for',
    edits: [
      [
        'for (const { waitsAt } of waiting)\n        if (waitsAt !== undefined)',
        'for (const { waitsAt, isParked } of waiting)\n        if (waitsAt !== undefined && !isParked)'
      ]
    ],
    breaks: 'a parked request still waits, and still can be the one that another waits for in a circle'
  },
  {
    fault: 'who is refused loses his leases',
    file: 'lock-table',
    edits: [
      [
        "this.#settle(acquisition, 'failed');",
        "this.#settle(acquisition, 'failed');\n        if (error?.code === 'DEADLOCK')\n            for (const lease of this.agents.leasesOf(acquisition.agentId))\n                this.release(lease);"
      ]
    ],
    breaks: 'of two upgrades on one path the second is refused, and the first is granted when the other lease ends',
    foundByHistories: true
  },
  {
    fault: 'a coming lease opens nothing',
    file: 'queue',
    edits: [['if (!other.isLease)\n                continue;', 'continue;']],
    breaks: 'who asks for a lease and then writes is not in his own way, and writes as soon as he has it',
    foundByHistories: true
  },
  {
    fault: 'a coming lease of its own agent opens nothing',
    file: 'queue',
    edits: [['hasLease ||= isSameAgent(other, place);', '']],
    breaks: 'who asks again for what he waits for is not in his own way',
    foundByHistories: true
  },
  {
    fault: 'a coming lease opens the way to its own agent alone',
    file: 'queue',
    edits: [
      [
        ': this.#isKeptBy(leases, other);',
        ': this.#isKeptBy(leases.filter((lease) => this.holders.has(lease) || isSameAgent(lease, place)), other);'
      ]
    ],
    breaks: 'an operation does not wait for one that a lease will keep from running before its turn'
  },
  {
    fault: 'only an exclusive lease to come lets its agent pass',
    file: 'queue',
    edits: [['if (!other.isLease)', "if (!other.isLease || other.mode === 'shared')"]],
    breaks: 'who waits for a shared lease and then for an exclusive one is not in his own way'
  },
  {
    fault: 'a lease to come is a way past those who hold',
    file: 'queue',
    edits: [
      [
        'if (this.#conflicts(place, holder))\n                yield holder;',
        'if (this.#conflicts(place, holder) && ![...this.waiters()].some((waiter) => waiter !== place && waiter.isLease && isSameAgent(waiter, place)))\n                yield holder;'
      ]
    ],
    breaks: 'a lease to come is no way past those who hold the path already'
  },
  {
    fault: 'a lease keeps back who has asked for one before it',
    file: 'queue',
    edits: [['if (hasOwn && !this.holders.has(lease))\n                return false;', '']],
    breaks: 'an operation is not kept back by the lease that another has asked for after its agent had one'
  },
  {
    fault: 'a lease asked for counts before it stands in line',
    file: 'queue',
    edits: [
      [
        'const leases = this.leases.map((lease) => lease.place);',
        'const leases = this.leases.map((lease) => lease.place);\n        for (const waiter of this.waiters())\n            if (waiter.isLease)\n                leases.push(waiter);'
      ]
    ],
    breaks: 'an operation passes no other for the sake of a lease that is asked for behind it'
  },
  {
    fault: 'who waits for two waits for the first of them',
    file: 'wait-for',
    edits: [
      [
        'for (const blocker of step.queue.blockersOf(step.place)) {',
        'for (const blocker of [...step.queue.blockersOf(step.place)].slice(0, 1)) {'
      ]
    ],
    breaks: 'a circle of agents that only wait is found, where one asks for two paths'
  },
  {
    fault: 'who asks for a lease is taken to wait for it already',
    file: 'agents',
    edits: [['(acquisition.isLease && waits.has(acquisition) ? 1 : 0)', '(acquisition.isLease ? 1 : 0)']],
    breaks: 'a circle of agents that only wait is found, where one asks for two paths'
  },
  {
    fault: 'the operation of who waits for a lease is taken for that',
    file: 'agents',
    edits: [['(acquisition.isLease && waits.has(acquisition) ? 1 : 0)', '(waits.has(acquisition) ? 1 : 0)']],
    breaks: 'a circle that closes since a request leaves whose lease would have opened it is found in that turn'
  },
  {
    fault: 'a circle is told from its end',
    file: 'wait-for',
    edits: [['return waits.reverse();', 'return waits;']],
    breaks: 'a write waits for a lease as another lease does, and its agent with it'
  },
  {
    fault: 'what is known to lead nowhere is gone through again, until it is given up',
    file: 'wait-for',
    edits: [['seen.add(node);', 'if (steps.length > 10_000)\n                return undefined;']],
    breaks: 'many ways from each agent to the next make the search for a circle no longer'
  },
  {
    fault: 'operations pass whoever waits for the end of a lease',
    file: 'queue',
    edits: [['place.isLease || other.isLease ? hasLease', 'place.isLease ? hasLease']],
    breaks: 'a circle that closes since a lease ends that let its agent pass is found in that turn'
  },
  {
    fault: 'whoever has a lease to come passes all who ask, before him too',
    file: 'queue',
    edits: [['let hasOwn = false;', 'let hasOwn = leases.some((lease) => isSameAgent(operation, lease));']],
    breaks: 'a way that a coming lease opens counts for those in between as well'
  },
  {
    fault: 'in a long line nobody waits for the leases held',
    file: 'wait-for',
    edits: [
      [
        'for (const { place } of leases)\n        if (place.queue === queue || (place.queue?.depth ?? 0) > 0)\n            return true;',
        ''
      ]
    ],
    breaks: 'two writers with a shared lease each on one path wait for each other'
  },
  {
    fault: 'in a long line nobody waits for the leases asked for',
    file: 'wait-for',
    edits: [
      [
        'for (const other of waits)\n        if (other.isLease && other !== acquisition && other.waitsAt?.behind !== undefined)\n            return true;',
        ''
      ]
    ],
    breaks: 'a circle of agents that only wait is found, where one asks for two paths'
  },
  {
    fault: 'in a long line nobody waits for leases on other paths',
    file: 'wait-for',
    edits: [[' || (place.queue?.depth ?? 0) > 0', '']],
    breaks: 'who waits behind a waiter waits for all that the waiter waits for'
  },
  {
    fault: 'of a line only the first is asked whether he waits in a circle',
    file: 'wait-for',
    edits: [
      [
        'for (const place of queue.waiters()) {\n        const node',
        'for (const place of [...queue.waiters()].slice(0, 1)) {\n        const node'
      ]
    ],
    breaks: 'a circle that closes since a lease ends that let its agent pass is found in that turn'
  },
  {
    fault: 'a circle is overlooked that the first one looked at is not in',
    file: 'wait-for',
    edits: [['else if (isDone.get(node) === false)', 'else if (node === path[0].node)']],
    breaks: 'a circle that closes although nobody comes, since one who was passed is granted, is found in that turn'
  },
  {
    fault: 'a shared lease asked for behind another opens nothing',
    file: 'queue',
    edits: [['hasLease || this.#willShareBefore(place, other)', 'hasLease']],
    breaks: 'who asks for an exclusive lease and then for a shared one waits for no shared one of another'
  }
]
