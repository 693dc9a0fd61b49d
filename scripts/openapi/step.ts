// One call of the session that the examples are recorded from.
import type { ErrorCode } from '../../schemas/errors.ts'
import type { JsonObject } from './components.ts'

export interface Step {
  readonly operation: string
  /** Key of the example. */
  readonly name: string
  readonly summary: string
  /** The body, which may depend on what an earlier step was answered. */
  readonly input?: Readonly<Record<string, unknown>> | ((answerTo: AnswerTo) => object)
  /** What stands behind the name of the operation, such as "?limit=1". */
  readonly query?: string
  /** 200 unless it says otherwise. */
  readonly status?: number
  /** The failure that is to be shown. */
  readonly code?: ErrorCode
  /** POST unless it says otherwise. */
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer of the earlier step with this name, as it came. */
export type AnswerTo = (operation: string, name: string) => JsonObject
