// Where the work of the differ is done: on the event loop if it is small, else on a thread, else as well as the event loop can.
import { OperationError } from '../../errors.ts'
import { largeTurn } from '../../support/large-work.ts'
import { PoolBusy } from './admission-queue.ts'
import { createBudget, OutOfBudget, type Budget } from './budget.ts'
import { createPool } from './pool.ts'
import type { Jobs } from './worker.ts'

interface JobsOptions {
  /** Threads at most. */
  readonly maxWorkers: number
  /** The bound that a job has of its own. */
  readonly timeoutMs: number
  /** Called with the reason why the event loop had to do what a thread should have done. */
  readonly onFallback: (reason: unknown) => void
  /** Called with the reason why there are no threads, and with undefined once there are. */
  readonly onTrouble: (error: unknown) => void
}

// What a job may take beyond its own bound: its linear part, the start of a thread, the wait for a free one.
const patienceMs = 5_000
// Steps of patches on the event loop: about 1 ms. Judging them costs the same again.
const maxInlineSteps = 1024 * 1024
/** Steps as a last resort: beyond it all other calls would wait too long. */
export const maxFallbackSteps = 32 * maxInlineSteps

export function createJobs({ maxWorkers, timeoutMs, onFallback, onTrouble }: JobsOptions) {
  const pool = createPool({ maxThreads: maxWorkers, patienceMs: timeoutMs + patienceMs, onTrouble })

  /** Within a small budget on the event loop, else on a thread, else within a larger budget on the event loop. */
  async function withBudget<Name extends keyof Jobs>(
    name: Name,
    task: Jobs[Name]['task'],
    work: (budget: Budget) => Jobs[Name]['result'],
    signal: AbortSignal | undefined
  ): Promise<Jobs[Name]['result']> {
    signal?.throwIfAborted()
    try {
      return work(createBudget(maxInlineSteps))
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
    }
    const fallback = (reason: unknown) => {
      // Threads are there: what they have no time for would hold the event loop as long.
      if (reason instanceof PoolBusy) throw tooMuchWork()
      try {
        return work(createBudget(maxFallbackSteps))
      } catch (error) {
        throw error instanceof OutOfBudget ? tooMuchWork() : error
      }
    }
    return await onThread(name, task, fallback, signal)
  }

  /** If no thread answers, `fallback` does. */
  async function onThread<Name extends keyof Jobs>(
    name: Name,
    task: Jobs[Name]['task'],
    fallback: (reason: unknown) => Jobs[Name]['result'],
    signal: AbortSignal | undefined
  ): Promise<Jobs[Name]['result']> {
    // To hand a task to a thread is to copy its texts.
    await largeTurn()
    signal?.throwIfAborted()
    try {
      return await pool.run(name, task, signal)
    } catch (error) {
      signal?.throwIfAborted()
      onFallback(error)
      await largeTurn()
      return fallback(error)
    }
  }

  return { onThread, withBudget, close: pool.close }
}

/** Either no thread is free, or the edits take longer than any caller should hold the file for. */
function tooMuchWork(): OperationError {
  const message =
    'So many edits of such a large text take longer than the server allows, or it is too busy now. Nothing was changed. Send fewer edits at once, or the whole content.'
  return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: 1 } })
}
