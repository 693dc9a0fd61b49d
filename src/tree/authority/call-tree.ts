// A call, wherever its tree is served: with the names under which the next authority goes on with it.
import { randomUUID } from 'node:crypto'
import type { Caller, OperationResult } from '../../engine/call/context.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'
import type { Coordinator } from '../coordinator/coordinator.ts'
import type { Ask, Use } from './asking.ts'
import type { HandOver } from './hand-over.ts'
import { authorityLost } from './authority-lost.ts'

interface TreeCallOptions {
  /** Of this process. */
  readonly engine: EngineLink
  readonly ask: Ask
  readonly handOver: Pick<HandOver, 'add' | 'nextPlace'>
  /** The call that has waited there has ended without an answer. */
  readonly endPlace: (place: string) => void
}

export function createTreeCall(options: TreeCallOptions): EngineLink['call'] {
  const { engine, ask, handOver, endPlace } = options
  return async (operation, input, call) => {
    const { isLocal, repeats, keepsPlaces } = operation
    if (isLocal === true) return engine.call(operation, input, call)
    handOver.add(call.caller.connection)
    const askedAt = performance.now()
    let through: Pick<Caller, 'place' | 'callId'> | undefined
    const use: Use<OperationResult> = (link, lost) => {
      // Only the answer of another process can be lost.
      if (link === engine && through === undefined) return link.call(operation, input, call)
      const waitedMs = through && performance.now() - askedAt
      through ??= {
        ...(keepsPlaces === true && { place: handOver.nextPlace() }),
        ...(repeats === 'by-receipt' && { callId: randomUUID() })
      }
      return link.call(operation, input, { ...call, caller: { ...call.caller, ...through, waitedMs, repeats: lost } })
    }
    try {
      return await ask(use, { repeats, signal: call.signal })
    } catch (error) {
      const place = through?.place
      if (place !== undefined) endPlace(place)
      throw error
    }
  }
}

/** What was found or done once another process may have been the authority is not answered. */
export function guardAnswers<Engine extends EngineLink>(
  engine: Engine,
  { isInPlace }: Pick<Coordinator, 'isInPlace'>
): Engine {
  return {
    ...engine,
    async call(...[operation, input, call]: Parameters<EngineLink['call']>) {
      const result = await engine.call(operation, input, call)
      if (!isInPlace()) throw authorityLost(operation.name)
      return result
    }
  }
}
