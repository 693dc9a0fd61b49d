// Counts the calls of the clients of this process: by operation, transport and outcome, and how long they took.
import { OperationError } from '../../errors.ts'
import { Durations } from '../../support/durations.ts'
import type { CarryCall, Caller } from './context.ts'

type Outcomes = Map<string, number>

export interface OperationCounts {
  readonly byTransport: Map<Caller['transport'], Outcomes>
  readonly durations: Durations
}

export type CallCounts = ReturnType<typeof createCallCounts>

export function createCallCounts() {
  const byOperation = new Map<string, OperationCounts>()

  function count(name: string, transport: Caller['transport'], outcome: string, ms: number): void {
    let operation = byOperation.get(name)
    if (operation === undefined)
      byOperation.set(name, (operation = { byTransport: new Map(), durations: new Durations() }))
    operation.durations.record(ms)
    let outcomes = operation.byTransport.get(transport)
    if (outcomes === undefined) operation.byTransport.set(transport, (outcomes = new Map()))
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }

  return {
    byOperation,
    /** The same calls, counted. */
    counting(call: CarryCall): CarryCall {
      return async (operation, input, options) => {
        const { name } = operation
        const { transport } = options.caller
        const start = performance.now()
        try {
          const result = await call(operation, input, options)
          // The results of FES have no status.
          count(name, transport, result.status ?? 'ok', performance.now() - start)
          return result
        } catch (error) {
          count(
            name,
            transport,
            error instanceof OperationError ? error.code : 'SERVER_ERROR',
            performance.now() - start
          )
          throw error
        }
      }
    }
  }
}
