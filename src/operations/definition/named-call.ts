// A call that its caller has named: what it changes is made once, however often the call is repeated.
import { RequestId } from '../../../schemas/common.ts'
import { isOperationError, OperationError } from '../../errors.ts'
import type { Caller, OperationContext } from '../../engine/call/context.ts'
import { digestOf } from '../../engine/receipts/digest.ts'
import type { Outcome } from '../../engine/receipts/receipt.ts'
import type { OwnReceipt } from '../../engine/receipts/receipts.ts'
import { Validator } from '../../support/validation/validator.ts'

interface NamedInput {
  readonly request_id?: string
  readonly dry_run?: boolean
}

/** These say who asks, not what for. */
const withoutMeaning = ['request_id', 'agent_id']

interface NamedCall {
  readonly context: OperationContext
  /** What the call asks for, in its full form. */
  readonly asked: () => Promise<object>
}

/**
 * Carries out a call under its name: the caller's own, or that of the relay which passes it on. Without a name it is carried out as
 * it is, and so is a dry run: it changes nothing, and leaves the name to the call that does.
 * @throws OperationError INVALID_REQUEST if the name belongs to another input
 */
export async function runNamed<Result extends object>(
  operation: string,
  input: NamedInput,
  { context, asked }: NamedCall,
  carryOut: (receipt: OwnReceipt | undefined) => Promise<Result>
): Promise<Result> {
  const { receipts, caller, signal } = context
  const requestId = nameOf(input, caller)
  const { agentId: who = 'anonymous', callId, repeats } = caller
  if (input.dry_run === true || (requestId === undefined && callId === undefined)) return carryOut(undefined)
  // A relay's names are its own: they are apart from those of its callers.
  const key =
    requestId === undefined ? { agentId: `${who}\0`, requestId: callId as string } : { agentId: who, requestId }
  const digest = await digestOf(operation, await asked(), withoutMeaning)
  const request = { operation, ...key, isNamedByCaller: requestId !== undefined, digest, repeats }
  return receipts.run(request, signal, carryOut)
}

/** The answer of an earlier call, or else of this one, which is kept if it is about a change. @throws OperationError the recorded one */
export async function once<Result extends { readonly status?: string }>(
  receipt: OwnReceipt | undefined,
  carryOut: () => Promise<Result>
): Promise<Result> {
  if (receipt === undefined) return carryOut()
  const recorded = receipt.recorded()
  if (recorded !== undefined) return replay(recorded, receipt.isNamedByCaller) as Result
  try {
    const result = await carryOut()
    // Nothing was changed: a repeat is another attempt.
    if (result.status !== 'contention') receipt.record({ result })
    return result
  } catch (error) {
    if (isApplied(error)) receipt.record({ error: error.toWire() })
    // What was begun, the next authority may have ended: it finds the intent.
    else if (!isOperationError(error, 'AUTHORITY_LOST')) receipt.drop()
    throw error
  }
}

function replay(outcome: Outcome, isMarked: boolean): object {
  if ('result' in outcome) return isMarked ? { ...outcome.result, replayed: true } : outcome.result
  const { error } = outcome
  throw OperationError.fromWire(isMarked ? { ...error, details: { ...error.details, replayed: true } } : error)
}

/** The change was made, and only what comes after it has failed, or it is not known whether it was. */
function isApplied(error: unknown): error is OperationError {
  const { details } = error instanceof OperationError ? error : {}
  return details?.['applied'] === true || details?.['undecided'] === true
}

const requestIdValidator = new Validator<string>('request_id', RequestId)

/** @throws OperationError INVALID_REQUEST */
function nameOf({ request_id }: NamedInput, { requestId }: Caller): string | undefined {
  if (requestId === undefined) return request_id
  if (!requestIdValidator.accepts(requestId)) {
    const message = 'The Idempotency-Key of the request must have 1 to 128 characters and no control characters.'
    throw new OperationError('INVALID_REQUEST', message)
  }
  if (request_id !== undefined && request_id !== requestId) {
    const message =
      'The request has one name in the header Idempotency-Key and another one in request_id. Nothing was done: send one of them, or the same in both.'
    throw new OperationError('INVALID_REQUEST', message)
  }
  return requestId
}
