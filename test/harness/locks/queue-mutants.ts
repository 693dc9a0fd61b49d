// Faults of the queue, and of what is kept and told about it.
import type { Mutant } from './mutant-loader.ts'

export const queueMutants: readonly Mutant[] = [
  {
    fault: 'a newcomer that the holders admit overtakes the waiters',
    file: 'queue',
    edits: [['return this.depth === 0 && this.#admits(entry.mode);', 'return this.#admits(entry.mode);']],
    breaks: 'a reader waits behind a queued writer, although only readers hold',
    foundBySchedules: true
  },
  {
    fault: 'writers do not exclude each other',
    file: 'queue',
    edits: [
      [
        `this.holders.size === 0 || (mode === 'shared' && this.#exclusive === 0)`,
        `this.holders.size === 0 || !(this.#exclusive > 0 && mode === 'shared')`
      ]
    ],
    breaks: 'a writer holds alone; readers hold together',
    foundBySchedules: true
  },
  {
    fault: 'readers are admitted beside a writer',
    file: 'queue',
    edits: [[`(mode === 'shared' && this.#exclusive === 0)`, `mode === 'shared'`]],
    breaks: 'a writer holds alone; readers hold together',
    foundBySchedules: true
  },
  {
    fault: 'readers exclude each other',
    file: 'queue',
    edits: [[`(mode === 'shared' && this.#exclusive === 0)`, 'false']],
    breaks: 'a writer holds alone; readers hold together',
    foundBySchedules: true
  },
  {
    fault: 'a waiter that leaves from the end cuts off whoever comes next',
    file: 'queue',
    edits: [['this.#last = ahead;', ';']],
    breaks: 'whoever leaves from the middle or the end of the queue leaves the others in their order',
    foundBySchedules: true
  },
  {
    fault: 'a waiter that leaves from the middle takes those behind it along',
    file: 'queue',
    edits: [['ahead.behind = behind;', 'ahead.behind = undefined;']],
    breaks: 'whoever leaves from the middle or the end of the queue leaves the others in their order',
    foundBySchedules: true,
    seed: 23
  },
  {
    fault: 'a newcomer stands at the front',
    file: 'queue',
    edits: [
      [
        `            this.#last.behind = entry;
        this.#last = entry;`,
        `            { entry.ahead = undefined; entry.behind = this.#first; this.#first.ahead = entry; this.#first = entry; }
        this.#last ??= entry;`
      ]
    ],
    breaks: 'grants follow the order of arrival, adjacent readers together',
    foundBySchedules: true
  },
  {
    fault: 'a release takes any token',
    file: 'queue',
    edits: [['if (entry.acquisition.fencingToken === fencingToken)', 'if (entry)']],
    breaks: 'a release with the wrong token or the wrong key is refused and changes nothing',
    foundBySchedules: true
  },
  {
    fault: 'a release takes older tokens too',
    file: 'queue',
    edits: [['entry.acquisition.fencingToken === fencingToken', 'entry.acquisition.fencingToken >= fencingToken']],
    breaks: 'a release with the wrong token or the wrong key is refused and changes nothing',
    foundBySchedules: true
  },
  {
    fault: 'positions are not counted down',
    file: 'positions',
    edits: [['listener.position -= 1;', ';']],
    breaks: 'a waiter that asks is told its position and the total after queueing and after each change'
  },
  {
    fault: 'positions count down those ahead of the one that left',
    file: 'positions',
    edits: [['if (listener.ticket > ticket)', 'if (listener)']],
    breaks: 'a waiter that asks is told its position and the total after queueing and after each change'
  },
  {
    fault: 'positions are told after the grant',
    file: 'queue',
    edits: [['this.#positions?.delete(entry.standing);', ';']],
    breaks: 'nobody is told a position after the grant, a timeout or a cancellation, not even from the same turn'
  },
  {
    fault: 'every change is told, also one that changes neither number',
    file: 'positions',
    edits: [['if (listener.reportedPosition === position && listener.reportedTotal === this.#total)', 'if (false)']],
    breaks: 'a waiter that asks is told its position and the total after queueing and after each change'
  },
  {
    fault: 'the position in a timeout message is one too low',
    file: 'queue',
    edits: [['let position = 1;', 'let position = 0;']],
    breaks: 'LOCK_TIMEOUT says which path, who holds it since when, the place in the queue and what to do'
  },
  {
    fault: 'the release of one reader releases all',
    file: 'queue',
    edits: [
      [
        'if (!this.holders.delete(entry))\n            return false;',
        'if (!this.holders.delete(entry))\n            return false;\n        this.holders.clear();'
      ]
    ],
    breaks: 'a writer behind two readers waits for both',
    foundBySchedules: true
  },
  {
    fault: 'status shows one time of a waiter twice',
    file: 'status',
    edits: [['queuedAt: entry.since', 'queuedAt: timeoutAt']],
    breaks: 'status shows holders, waiters with both their times, and the depth; the summary counts them'
  },
  {
    fault: 'status shows the timeout of a half granted acquisition as its end',
    file: 'status',
    edits: [['fencingToken === undefined ? undefined : dueAt', 'dueAt']],
    breaks: 'a holder that still waits for another key has no token and no end yet, and says what it waits for'
  }
]
