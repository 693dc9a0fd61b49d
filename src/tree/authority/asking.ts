// Asks the authority of the tree, and the next one after the loss of the first: a call through a relay outlives the process that was asked.
import { isOperationError, type OperationError } from '../../errors.ts'
import type { Repeats } from '../../engine/call/context.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'

interface Loss {
  readonly error: OperationError
  /** Names the journal of the lost authority. */
  readonly lineage: string | undefined
}

interface AskingOptions {
  /** The authority, if no wait is needed. */
  readonly current: () => EngineLink | undefined
  /** @throws OperationError */
  readonly find: (signal: AbortSignal | undefined) => Promise<EngineLink>
  readonly lineageOf: (link: EngineLink) => string | undefined
}

interface Asked {
  readonly repeats: Repeats
  readonly signal?: AbortSignal
}

/** @param lost names the journal of the authority that was asked before, if that has gone */
export type Use<Result> = (link: EngineLink, lost: string | undefined) => Promise<Result>

export type Ask = <Result>(use: Use<Result>, asked: Asked) => Promise<Result>

/** What a call is answered that was not begun, or was cancelled while it waited. */
const refusals = ['OVERLOADED', 'CANCELLED'] as const

/** So many authorities in a row can be lost under one call. */
const maxLosses = 20

export function createAsking({ current, find, lineageOf }: AskingOptions): Ask {
  return async (use, { repeats, signal }) => {
    let loss: Loss | undefined
    for (let losses = 0; ;) {
      let link: EngineLink | undefined
      try {
        // Calls that wait for it go on in their order.
        link = current() ?? (await find(signal))
        if (loss !== undefined && repeats === 'same-journal' && lineageOf(link) !== loss.lineage) throw loss.error
        return await use(link, loss?.lineage)
      } catch (error) {
        const isGone = link?.isLeaving?.() === true
        // A request that a leaving authority refused was not done.
        if (isOperationError(error, 'OVERLOADED') && isGone) continue
        if (isOperationError(error, 'AUTHORITY_LOST') && isGone && losses < maxLosses) {
          const next = { error, lineage: link && lineageOf(link) }
          losses += 1
          if (repeats === 'always' || (repeats !== 'never' && next.lineage !== undefined)) {
            loss ??= next
            continue
          }
        }
        // That nothing was done is true of the last authority only, if there was one.
        const isRefused = link === undefined || refusals.some((code) => isOperationError(error, code))
        throw loss !== undefined && repeats !== 'always' && isRefused ? loss.error : error
      }
    }
  }
}
