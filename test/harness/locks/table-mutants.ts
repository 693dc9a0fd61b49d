// Faults of the moves through the table.
import type { Mutant } from './mutant-loader.ts'

export const tableMutants: readonly Mutant[] = [
  {
    fault: 'only the first of adjacent readers is granted',
    file: 'lock-table',
    edits: [['while (!this.#isStopping) {', 'for (let once = !this.#isStopping; once; once = false) {']],
    breaks: 'grants follow the order of arrival, adjacent readers together',
    foundBySchedules: true
  },
  {
    fault: 'nobody is promoted when a waiter leaves',
    file: 'lock-table',
    edits: [['queue.leave(place);', 'queue.leave(place);\n            left.pop();']],
    breaks: 'when a queued writer leaves, the readers behind it run at once',
    foundBySchedules: true,
    seed: 50
  },
  {
    fault: 'nobody is promoted when a holder leaves',
    file: 'lock-table',
    edits: [
      [
        '            if (queue.release(place))\n                continue;',
        '            if (queue.release(place)) { left.pop(); continue; }'
      ]
    ],
    breaks: 'grants follow the order of arrival, adjacent readers together',
    foundBySchedules: true
  },
  {
    fault: 'a waiter that gave up stays in the queue',
    file: 'lock-table',
    edits: [['queue.leave(place);', '']],
    breaks: 'a waiter that times out or is cancelled at the very moment of the grant never leaves the lock held',
    foundBySchedules: true
  },
  {
    fault: 'a cancellation after the grant still fails the acquisition',
    file: 'lock-table',
    edits: [
      ["if (acquisition.state !== 'waiting')", "if (acquisition.state === 'failed')"],
      ['acquisition.detach?.();', '']
    ],
    breaks: 'a waiter that times out or is cancelled at the very moment of the grant never leaves the lock held',
    foundBySchedules: true
  },
  {
    fault: 'a lock ends at the timeout of its wait',
    file: 'lock-table',
    edits: [['acquisition.endsAt = now + acquisition.ttlMs;', 'acquisition.endsAt = acquisition.timeoutAt;']],
    breaks: 'a waiter that times out or is cancelled at the very moment of the grant never leaves the lock held',
    foundBySchedules: true
  },
  {
    fault: 'the listener stays on the signal',
    file: 'lock-table',
    edits: [['acquisition.detach?.();', '']],
    breaks: 'no listener stays on the caller\u2019s signal after a grant, a timeout or a cancellation'
  },
  {
    fault: 'a failure keeps the keys granted so far',
    file: 'lock-table',
    edits: [
      [
        `            if (queue === undefined)
                continue;
            left.push(queue);`,
        `            if (queue === undefined || (acquisition.state === 'failed' && queue.holders.has(place)))
                continue;
            left.push(queue);`
      ]
    ],
    breaks: 'of several keys all are held or none: a failure at the second releases the first',
    foundBySchedules: true
  },
  {
    fault: 'a second release takes the key from whoever holds it then',
    file: 'lock-table',
    edits: [
      [
        "if (acquisition.state !== 'held')\n            return;\n        acquisition.state = 'released';",
        "if (acquisition.state !== 'held') { for (const place of this.#queues.get(acquisition.places[0].key)?.holders ?? []) return this.release(place.acquisition); return; }\n        acquisition.state = 'released';"
      ]
    ],
    breaks: 'releasing twice is harmless: the lock of the next holder stays',
    foundBySchedules: true
  },
  {
    fault: 'a second release runs again',
    file: 'lock-table',
    edits: [
      [
        `        if (acquisition.state !== 'held')
            return;
        acquisition.state = 'released';`,
        `        acquisition.state = 'released';`
      ]
    ],
    breaks: 'a signal asked for only after the TTL is aborted already'
  },
  {
    fault: 'a release leaves the TTL running',
    file: 'lock-table',
    edits: [
      [
        `acquisition.state = 'released';
        this.#deadlines.delete(acquisition);`,
        `acquisition.state = 'released';`
      ]
    ],
    breaks: 'one key of several can be released by token; the lock no longer counts as held, the other key stays',
    foundBySchedules: true
  },
  {
    fault: 'an unused queue is kept',
    file: 'lock-table',
    edits: [['this.#queues.delete(queue.key);', '']],
    breaks: 'a path with no holder and no waiter costs no memory',
    foundBySchedules: true
  },
  {
    fault: 'forgetting a queue forgets the one that has taken its place',
    file: 'lock-table',
    edits: [[' || this.#queues.get(queue.key) !== queue', '']],
    breaks: 'a grant that fails on its last key amid a promotion leaves the next one of the queue its keys'
  },
  {
    fault: 'a queue is promoted within its own promotion',
    file: 'lock-table',
    edits: [
      [
        `if (queue.isPromoting)
            return;`,
        ''
      ]
    ],
    breaks: 'thousands that fail on their last key amid one promotion do not exhaust the stack'
  },
  {
    fault: 'all tokens are the same',
    file: 'tokens',
    edits: [['(last += 1)', '(last = 1)']],
    breaks: 'fencing tokens grow with every grant, whatever the key and the mode',
    foundBySchedules: true
  },
  {
    fault: 'tokens shrink',
    file: 'tokens',
    edits: [['(last += 1)', '(last -= 1)']],
    breaks: 'fencing tokens grow with every grant, whatever the key and the mode',
    foundBySchedules: true
  },
  {
    fault: 'the TTL counts from the call',
    file: 'lock-table',
    edits: [
      [
        'acquisition.endsAt = now + acquisition.ttlMs;',
        'acquisition.endsAt = acquisition.timeoutAt - acquisition.timeoutMs + acquisition.ttlMs;'
      ]
    ],
    breaks:
      'at the end of its TTL a lock is taken away, its signal aborts and the next waiter runs, all at that millisecond'
  },
  {
    fault: 'no TTL is set',
    file: 'lock-table',
    edits: [
      [
        'acquisition.endsAt = now + acquisition.ttlMs;\n        this.#deadlines.add(acquisition);',
        'acquisition.endsAt = now + acquisition.ttlMs;'
      ]
    ],
    breaks:
      'at the end of its TTL a lock is taken away, its signal aborts and the next waiter runs, all at that millisecond'
  },
  {
    fault: 'a TTL aborts the signal and leaves the lock in place',
    file: 'lock-table',
    edits: [['        this.#withdraw(acquisition);\n        acquisition.expire();', '        acquisition.expire();']],
    breaks:
      'at the end of its TTL a lock is taken away, its signal aborts and the next waiter runs, all at that millisecond'
  },
  {
    fault: 'a TTL takes the lock and says nothing',
    file: 'lock-table',
    edits: [['acquisition.expire();', `acquisition.state = 'expired';`]],
    breaks:
      'at the end of its TTL a lock is taken away, its signal aborts and the next waiter runs, all at that millisecond'
  },
  {
    fault: 'timeout 0 waits',
    file: 'lock-table',
    edits: [['if (now >= acquisition.timeoutAt)', 'if (false)']],
    breaks: 'with timeout 0 a lock that is not free is refused at once'
  },
  {
    fault: 'timeout 0 is refused even where the lock is free',
    file: 'lock-table',
    edits: [['if (!queue.isFreeFor(place))', 'if (!queue.isFreeFor(place) || now >= acquisition.timeoutAt)']],
    breaks: 'a free lock is granted in the same turn, also with timeout 0',
    foundBySchedules: true
  },
  {
    fault: 'each key has a timeout of its own',
    file: 'lock-table',
    edits: [
      [
        'place.acquisition.granted += 1;',
        'place.acquisition.granted += 1;\n            this.#deadlines.delete(place.acquisition);\n            place.acquisition.endsAt = now + place.acquisition.timeoutMs;\n            this.#deadlines.add(place.acquisition);'
      ]
    ],
    breaks: 'one timeout counts over all keys, also for time spent waiting at the first'
  }
]
