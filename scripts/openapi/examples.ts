// The examples of the OpenAPI document: calls that were really made, sorted to the requests and responses they illustrate.
import type { ErrorCode } from '../../schemas/errors.ts'
import type { Operation } from '../../src/operations/definition/define.ts'
import { envelopes, type Envelope } from '../../src/operations/definition/envelopes.ts'
import type { Json, JsonObject } from './components.ts'

/** One call as it was made, and its answer. */
export interface RecordedCall {
  /** The operationId. */
  readonly operation: string
  /** Key of the example, unique within its operation. */
  readonly name: string
  /** What happens, in one sentence. */
  readonly summary: string
  /** The body; undefined where the request has none. */
  readonly input?: Json | undefined
  readonly status: number
  /** Set where the call has failed. */
  readonly code?: ErrorCode | undefined
  readonly answer: Json
}

export interface Examples {
  /** Requests to follow: those of calls that have succeeded, or came too late. */
  requests(operationId: string): JsonObject
  answers(operationId: string, status: number): JsonObject
  /** Failures of whatever operation answers in this envelope. */
  failures(code: ErrorCode, envelope: Envelope): JsonObject
}

/** A request longer than this, in characters, says nothing to a reader. */
const maxShownRequest = 300

export function createExamples(calls: readonly RecordedCall[], operations: readonly Operation[]): Examples {
  const envelopeOf = new Map(operations.map(({ name, envelope }) => [name, envelope]))
  return {
    requests: (operationId) =>
      toExamples(
        calls.filter(({ operation, code }) => operation === operationId && code === undefined),
        ({ summary, input = null }) => ({ summary, value: input })
      ),
    answers: (operationId, status) =>
      toExamples(
        calls.filter((call) => call.operation === operationId && call.status === status),
        describeAnswer
      ),
    failures: (code, envelope) =>
      toExamples(
        calls.filter((call) => call.code === code && (envelopeOf.get(call.operation) ?? envelopes.status) === envelope),
        describeAnswer
      )
  }
}

/** An empty object where there are none: OpenAPI has no use for an empty list of examples. */
function toExamples(calls: readonly RecordedCall[], describe: (call: RecordedCall) => JsonObject): JsonObject {
  if (calls.length === 0) return {}
  return { examples: Object.fromEntries(calls.map((call) => [call.name, describe(call)])) }
}

/** The request of a failure stands beside it in words: as an example of a request it would invite to repeat it. */
function describeAnswer({ summary, input, code, answer }: RecordedCall): JsonObject {
  const request = JSON.stringify(input) ?? ''
  const isShown = code !== undefined && request !== '' && request.length <= maxShownRequest
  return { summary, ...(isShown && { description: `The answer to \`${request}\`.` }), value: answer }
}
