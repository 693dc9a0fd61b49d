// Bounds the bytes that calls work on at once: files read, texts made of them, answers not yet taken. Beyond it calls wait for their turn.
import type { Writable } from 'node:stream'
import { cancellationOf, OperationError } from '../../errors.ts'

export interface WorkBudgetOptions {
  /** Bytes that one kind of work may take, whatever requests take. */
  readonly maxBytes: number
  /** What is left of it now, beside the requests. */
  readonly room: () => number
  /** Counts what is taken, and with a negative number what is given back. */
  readonly count: (bytes: number) => void
  readonly maxWaitMs: number
}

/** Where answers go. */
interface Output {
  readonly mayDrop: boolean
  /** Bytes when it was last looked at, and since when there are as many, by performance.now(). */
  unsent: number
  since: number
}

/** What one call works on. */
export class CallWork {
  readonly #budget: WorkBudget
  readonly #signal: AbortSignal
  #bytes = 0
  #counted = 0

  constructor(budget: WorkBudget, signal: AbortSignal) {
    this.#budget = budget
    this.#signal = signal
  }

  /**
   * Call it under the locks of the call, never before: those that wait for a lock must not keep others from ending.
   * Waits only if the call has nothing yet, so that no two calls wait for each other.
   * @returns undefined if there is room now @throws OperationError OVERLOADED
   */
  reserve(bytes: number): Promise<void> | undefined {
    const hasRoom = this.#bytes > 0 || this.#budget.isFree(bytes)
    if (!hasRoom) return this.#budget.waitForRoom(bytes, this.#signal).then(() => this.#take(bytes))
    this.#take(bytes)
    return undefined
  }

  #take(bytes: number): void {
    this.#counted += this.#budget.take(bytes)
    this.#bytes += bytes
  }

  /** Harmless when called again. */
  release(): void {
    if (this.#bytes === 0) return
    this.#budget.giveBack(this.#bytes, this.#counted)
    this.#bytes = 0
    this.#counted = 0
  }
}

export type WorkBudget = ReturnType<typeof createWorkBudget>

const retryAfterSeconds = 1
/** How often answers that clients have not taken are looked at while calls wait for room. */
const lookMs = 20
const idleWaits = 3
const leastIdleMs = 1000

export function createWorkBudget({ maxBytes, room, count, maxWaitMs }: WorkBudgetOptions) {
  /** In the order in which they came. */
  const waiting = new Set<{ readonly bytes: number; readonly grant: () => void }>()
  const outputs = new Map<Writable, Output>()
  // The system takes a large answer as a whole: until then a client that reads slowly looks like one that reads nothing.
  const idleMs = Math.max(leastIdleMs, idleWaits * maxWaitMs)
  let held = 0
  let peak = 0
  let looks: NodeJS.Timeout | undefined

  /** One call always goes on, so that all come to their end, unless clients have left all the room to their answers. */
  function hasRoom(bytes: number): boolean {
    const unsent = unsentBytes()
    if (held === 0) return unsent <= maxBytes
    return held + bytes <= maxBytes - unsent && bytes <= room()
  }

  function unsentBytes(): number {
    let sum = 0
    for (const { writableLength } of outputs.keys()) sum += writableLength
    return sum
  }

  /** Ends connections whose clients take nothing while calls wait for the room of their answers. */
  function dropIdle(): void {
    const now = performance.now()
    for (const [output, seen] of outputs) {
      const { writableLength } = output
      if (writableLength !== seen.unsent) Object.assign(seen, { unsent: writableLength, since: now })
      else if (seen.mayDrop && writableLength > 0 && now - seen.since > idleMs) output.destroy()
    }
  }

  /** Grants one at a time: what it takes counts before the next is looked at. */
  function look(): void {
    const [first] = waiting
    if (first !== undefined && hasRoom(first.bytes)) {
      first.grant()
      setImmediate(look)
    }
    if (waiting.size > 0) dropIdle()
    if (waiting.size > 0) looks ??= setInterval(look, lookMs)
    else {
      clearInterval(looks)
      looks = undefined
    }
  }

  /** @returns how many of them count: a call that goes on without room must not keep out small requests */
  function take(bytes: number): number {
    const counted = Math.max(0, Math.min(bytes, room()))
    held += bytes
    peak = Math.max(peak, held)
    count(counted)
    return counted
  }

  return {
    take,
    /** Whether a newcomer need not wait. */
    isFree: (bytes: number): boolean => waiting.size === 0 && hasRoom(bytes),
    /** What is then taken must be taken at once. @throws OperationError OVERLOADED */
    waitForRoom(bytes: number, signal: AbortSignal): Promise<void> {
      return new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
          waiting.delete(waiter)
        }
        const leave = (error: unknown) => {
          end()
          reject(error)
        }
        const waiter = {
          bytes,
          grant: () => {
            end()
            resolve()
          }
        }
        const onAbort = () => leave(cancellationOf(signal))
        const timer = setTimeout(() => leave(overloaded(maxBytes)), maxWaitMs)
        signal.addEventListener('abort', onAbort, { once: true })
        waiting.add(waiter)
        look()
        if (signal.aborted) onAbort()
      })
    },
    giveBack(bytes: number, counted: number): void {
      held -= bytes
      count(-counted)
      look()
    },
    /**
     * From now on, what the client at this end has not taken yet counts.
     * @param mayDrop whether the connection ends if its client takes nothing for three times as long as others wait at most
     */
    watch(output: Writable, mayDrop: boolean): void {
      outputs.set(output, { mayDrop, unsent: 0, since: 0 })
      output.once('close', () => outputs.delete(output))
    },
    get use() {
      return { work: held, work_peak: peak, unsent: unsentBytes(), waiting: waiting.size }
    }
  }
}

function overloaded(maxBytes: number): OperationError {
  const message = `The calls under way work on all ${maxBytes} bytes that the server allows them (half of daemon.max_pending_request_bytes), and this one has waited for its turn (daemon.max_work_wait_seconds). It was not carried out: send it again in ${retryAfterSeconds} s, or read less of the file at once.`
  return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: retryAfterSeconds } })
}
