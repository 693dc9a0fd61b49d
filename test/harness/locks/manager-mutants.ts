// Faults of the lock manager, its locks, its deadlines, its limits and its stopping.
import type { Mutant } from './mutant-loader.ts'

export const managerMutants: readonly Mutant[] = [
  {
    fault: 'keys are taken in the order of the request',
    file: 'acquisition',
    edits: [['.sort((one, other) => (one.key < other.key ? -1 : 1))', '']],
    breaks: 'several keys are taken in canonical order, so that a to b and b to a do not block each other',
    foundBySchedules: true
  },
  {
    fault: 'of two requests for a key the first counts',
    file: 'acquisition',
    edits: [[` || known.mode === 'shared'`, '']],
    breaks: 'one key asked for twice is one lock, and exclusive wins'
  },
  {
    fault: 'of two requests for a key the last counts',
    file: 'acquisition',
    edits: [[`if (known === undefined || known.mode === 'shared')`, 'if (known || !known)']],
    breaks: 'one key asked for twice is one lock, and exclusive wins'
  },
  {
    fault: 'a key asked for twice is taken twice',
    file: 'acquisition',
    edits: [['return [...byKey.values()]', 'return [...requests]']],
    breaks: 'one key asked for twice is one lock, and exclusive wins'
  },
  {
    fault: 'a lock with a released key counts as held',
    file: 'acquisition',
    edits: [
      [
        `return this.state === 'held' && this.entries.every(({ state }) => state === 'holding');`,
        `return this.state === 'held';`
      ]
    ],
    breaks: 'one key of several can be released by token; the lock no longer counts as held, the other key stays'
  },
  {
    fault: 'a signal asked for late does not abort',
    file: 'acquisition',
    edits: [[`if (this.state === 'expired')`, 'if (false)']],
    breaks: 'a signal asked for only after the TTL is aborted already',
    foundBySchedules: true
  },
  {
    fault: 'a lock believes its timer instead of the clock',
    file: 'held-lock',
    edits: [['this.#table.catchUp();', '']],
    breaks: 'a lock whose TTL is over by the clock is lost, even if the event loop was too busy for the timer'
  },
  {
    fault: 'a newcomer does not see that a TTL is over',
    file: 'lock-manager',
    edits: [['this.#table.catchUp(now);\n            const acquisition', 'const acquisition']],
    breaks: 'a lock whose TTL is over by the clock is lost, even if the event loop was too busy for the timer'
  },
  {
    fault: 'a signal aborted beforehand is not looked at',
    file: 'lock-manager',
    edits: [['if (options.signal?.aborted === true)', 'if (false)']],
    breaks: 'an acquire whose signal is aborted beforehand is cancelled, free lock or not'
  },
  {
    fault: 'waiters have no timeout',
    file: 'lock-manager',
    edits: [['this.#table.setDeadline(acquisition, acquisition.dueAt);', '']],
    breaks: 'a waiter times out at its very millisecond, and only if it still waits',
    foundBySchedules: true
  },
  {
    fault: 'waiters do not listen to their signal',
    file: 'lock-manager',
    edits: [[`signal.addEventListener('abort', onAbort);`, '']],
    breaks: 'a waiter that times out or is cancelled at the very moment of the grant never leaves the lock held',
    foundBySchedules: true
  },
  {
    fault: 'a stopping manager grants what is free',
    file: 'lock-manager',
    edits: [['this.#table.stopReason !== undefined)\n                throw', 'false)\n                throw']],
    breaks:
      'a stopping manager fails the waiting and the coming with OVERLOADED, and what is held stays until its release'
  },
  {
    fault: 'the timer is not set for an earlier end',
    file: 'deadlines',
    edits: [['if (entry.dueAt < this.#armedFor)', 'if (this.#armedFor === Infinity)']],
    breaks: 'whatever the order of many ends and releases, each end comes at its own millisecond',
    foundBySchedules: true
  },
  {
    fault: 'the timer rings once only',
    file: 'deadlines',
    edits: [['return this.#arm(earliest.dueAt);', 'return;']],
    breaks: 'whatever the order of many ends and releases, each end comes at its own millisecond',
    foundBySchedules: true
  },
  {
    fault: 'every grant sets a timer',
    file: 'deadlines',
    edits: [['if (entry.dueAt < this.#armedFor)', 'if (entry)']],
    breaks: 'the usual grant sets no timer of its own',
    foundBySchedules: true
  },
  {
    fault: 'one ring ends one deadline',
    file: 'deadlines',
    edits: [['this.#onEnd(earliest);', 'this.#onEnd(earliest);\n            break;']],
    breaks: 'whatever the order of many ends and releases, each end comes at its own millisecond',
    foundBySchedules: true
  },
  {
    fault: 'the heap does not sink',
    file: 'deadlines',
    edits: [['this.#sink(last, slot);', 'this.#put(last, slot);']],
    breaks: 'whatever the order of many ends and releases, each end comes at its own millisecond',
    foundBySchedules: true
  },
  {
    fault: 'the heap does not lift what a deletion moves',
    file: 'deadlines',
    edits: [['this.#lift(last, last.slot);', '']],
    breaks: 'whatever the order of many ends and releases, each end comes at its own millisecond'
  },
  {
    fault: 'during a ring another that is due counts as alive',
    file: 'deadlines',
    edits: [['const now = this.#clock.now();', 'const now = this.#clock.now();\n        this.#armedFor = Infinity;']],
    breaks: 'a lock whose TTL is over by the clock is lost, even if the event loop was too busy for the timer'
  },
  {
    fault: "a listener that throws is everybody's fault",
    file: 'lock-manager',
    edits: [['this.#table.fail(acquisition, error);', ';']],
    breaks: 'a position listener that throws fails its own acquire and nobody else\u2019s'
  },
  {
    fault: 'a default limit is another',
    file: 'lock-manager',
    edits: [['maxWaitersPerKey: 1000', 'maxWaitersPerKey: 100']],
    breaks: 'the limits are 1000 waiters for one key and 1000 for one agent'
  },
  {
    fault: 'a duration that is not a number passes',
    file: 'acquisition',
    edits: [['if (ms >= 0)', 'if (!(ms < 0))']],
    breaks: 'faults of the program are named: no request, a negative or missing duration, a limit that is none'
  },
  {
    fault: 'the limit of a key is one too many',
    file: 'lock-table',
    edits: [['queue.depth >= maxWaitersPerKey', 'queue.depth > maxWaitersPerKey']],
    breaks: 'a queue at its limit refuses the next waiter with OVERLOADED, and has room again when one leaves'
  },
  {
    fault: 'the limit of an agent is one too many',
    file: 'lock-table',
    edits: [['size >= maxWaitersPerAgent', 'size > maxWaitersPerAgent']],
    breaks: 'one agent at its limit is refused with OVERLOADED, others are not, and every way out counts back'
  },
  {
    fault: 'a grant does not count back',
    file: 'lock-table',
    edits: [['this.agents.deleteWait(entry.acquisition);', '']],
    breaks: 'one agent at its limit is refused with OVERLOADED, others are not, and every way out counts back'
  },
  {
    fault: 'a waiter that gives up does not count back',
    file: 'lock-table',
    edits: [['this.agents.deleteWait(acquisition);', '']],
    breaks: 'one agent at its limit is refused with OVERLOADED, others are not, and every way out counts back'
  },
  {
    fault: 'a stopping manager still promotes',
    file: 'lock-table',
    edits: [['while (this.stopReason === undefined) {', 'while (queue) {']],
    breaks:
      'a stopping manager fails the waiting and the coming with OVERLOADED, and what is held stays until its release'
  },
  {
    fault: 'idle is never told',
    file: 'lock-table',
    edits: [['this.#whenEmpty.splice(0)', '[]']],
    breaks:
      'a stopping manager fails the waiting and the coming with OVERLOADED, and what is held stays until its release'
  },
  {
    fault: 'idle is told while something is held',
    file: 'lock-table',
    edits: [
      [
        `if (this.#queues.size === 0)
            callback();`,
        `if (this.#queues)
            callback();`
      ]
    ],
    breaks: 'a manager is idle at once when nothing is held, and again after each use'
  },
  {
    fault: 'trying takes a lock while stopping',
    file: 'lock-manager',
    edits: [['this.#table.stopReason === undefined && this.#table', 'this.#table']],
    breaks: 'trying takes what is free, in one turn, and otherwise changes nothing'
  }
]
