// A call, wherever its tree is served: with the names under which the next authority goes on with it.
import { randomUUID } from 'node:crypto'
import type { Caller, OperationResult } from '../../engine/context.ts'
import type { EngineLink } from '../../engine/engine-link.ts'
import type { Coordinator } from '../coordinator/coordinator.ts'
import type { Ask, Repeats, Use } from './asking.ts'
import type { HandOver } from './hand-over.ts'
import { authorityLost } from './authority-lost.ts'

export interface OperationNature {
  /** True if it concerns only this process. */
  readonly isLocal: boolean
  readonly repeats: Repeats
  /** True if it only reads what is on the disk. */
  readonly readsDisk: boolean
  /** True if its calls wait in places that outlive a process. */
  readonly keepsPlaces: boolean
}

interface TreeCallOptions {
  /** Of this process. */
  readonly engine: EngineLink
  readonly ask: Ask
  readonly natureOf: (operation: string) => OperationNature
  readonly handOver: Pick<HandOver, 'add' | 'nextPlace'>
  /** The call that has waited there has ended without an answer. */
  readonly endPlace: (place: string) => void
}

export function createTreeCall(options: TreeCallOptions): EngineLink['call'] {
  const { engine, ask, natureOf, handOver, endPlace } = options
  return async (name, input, call) => {
    const { isLocal, repeats, keepsPlaces } = natureOf(name)
    if (isLocal) return engine.call(name, input, call)
    handOver.add(call.caller.connection)
    const askedAt = performance.now()
    let through: Pick<Caller, 'place' | 'callId'> | undefined
    const use: Use<OperationResult> = (link, lost) => {
      // Only the answer of another process can be lost.
      if (link === engine && through === undefined) return link.call(name, input, call)
      const waitedMs = through && performance.now() - askedAt
      through ??= {
        ...(keepsPlaces && { place: handOver.nextPlace() }),
        ...(repeats === 'by-receipt' && { callId: randomUUID() })
      }
      return link.call(name, input, { ...call, caller: { ...call.caller, ...through, waitedMs, repeats: lost } })
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
    async call(name: string, input: unknown, call: Parameters<EngineLink['call']>[2]) {
      const result = await engine.call(name, input, call)
      if (!isInPlace()) throw authorityLost(name)
      return result
    }
  }
}
