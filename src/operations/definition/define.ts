// defineOperation: one object from which REST, MCP, JSON-RPC and OpenAPI are derived.
import { OperationError, toOperationError } from '../../errors.ts'
import { AgentId, ChangeSet } from '../../../schemas/common.ts'
import type { EnvelopeName } from '../../../schemas/contract.ts'
import type { ErrorCode } from '../../../schemas/errors.ts'
import type { Static, TObject } from '../../../schemas/typebox.ts'
import { Validator } from '../../support/validation/validator.ts'
import { createRoom } from '../change/answer-room.ts'
import { createInputCheck, type InputCheck } from './check-input.ts'
import type { CalledOperation, OperationContext, OperationResult, Repeats } from '../../engine/call/context.ts'
import { envelopes, type Envelope } from './envelopes.ts'
import { collectNotices } from '../../engine/notices/notices.ts'
import { takeInput } from './copy-input.ts'
import { givenPath } from './given-path.ts'
import { createUnpack, type JsonSchema, type Unpack } from './json-text.ts'
import { once, runNamed } from './named-call.ts'
import { withFullItems } from './own-items.ts'

/** The four hints of MCP's tool annotations. */
export interface Annotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

interface Definition<Input extends TObject, Output extends TObject> extends Pick<
  CalledOperation,
  'name' | 'isLocal' | 'readsDisk' | 'keepsPlaces'
> {
  readonly title: string
  /** For models: what it does, when to use it, what it returns. */
  readonly description: string
  /** Closed object. */
  readonly input: Input
  /** The answer of a successful call. */
  readonly output: Output
  /** True if it can also answer `contention`. */
  readonly contends: boolean
  /** The form of its failures. */
  readonly envelope: EnvelopeName
  readonly annotations: Annotations
  /** Codes it can fail with, in addition to those of every operation. */
  readonly errors: readonly ErrorCode[]
  /** True if no agent is offered it: it is available over REST only. */
  readonly isForOperators?: true
  /** A list whose items the handler copies and checks one by one, each with a result of its own. */
  readonly ownItems?: { readonly name: string; readonly check: InputCheck<object> }
  readonly handle: (input: Static<Input>, context: OperationContext) => Promise<object>
}

export interface Operation extends Omit<Definition<TObject, TObject>, 'handle' | 'envelope'>, CalledOperation {
  readonly envelope: Envelope
  /** For the process that a client has called, before any other sees the input. */
  readonly unpack: Unpack
}

/** Codes of every operation that takes a path. */
export const pathErrors = [
  'NOT_A_FILE',
  'ACCESS_DENIED',
  'PATH_OUTSIDE_BASE',
  // If a root was moved away, or a folder before ".." is missing.
  'DIR_NOT_FOUND',
  'READ_ERROR'
] as const satisfies readonly ErrorCode[]

/** Codes of every operation that changes a file. */
export const changeErrors = [
  ...pathErrors,
  'FILE_TOO_LARGE',
  'LOCK_TIMEOUT',
  'DEADLOCK',
  'LEASE_LOST',
  'LOCK_REQUIRED'
] as const satisfies readonly ErrorCode[]

/** Codes of every operation that takes leases. */
export const leaseErrors = [...pathErrors, 'WRITE_ERROR'] as const satisfies readonly ErrorCode[]

/** Codes that every operation can fail with. */
export const commonErrors = [
  'INVALID_REQUEST',
  'CANCELLED',
  'OVERLOADED',
  'SERVER_ERROR'
] as const satisfies readonly ErrorCode[]

export function defineOperation<Input extends TObject, Output extends TObject>(
  definition: Definition<Input, Output>
): Operation {
  const { name, input, handle, envelope, ownItems } = definition
  const canBeNamed = 'request_id' in input.properties
  const list = ownItems?.name
  const check = createInputCheck(name, list === undefined ? input : withAnyItems(input, list))

  async function call(rawInput: unknown, context: OperationContext): Promise<OperationResult> {
    const taken = take(rawInput)
    const agentId = refuseReserved(taken.agent_id ?? checkAgentId(context.caller.agentId))
    const facts = { operation: name, path: pathOf(taken), agent_id: agentId, transport: context.caller.transport }
    if (agentId !== undefined) context.activity.agents.saw(agentId, name, facts.path, context.caller)
    const start = performance.now()
    try {
      const named = context.withAgent(agentId, taken.change_set ?? checkChangeSet(context.caller.changeSet))
      const own = named.caller.maxAnswerChars === undefined ? named : named.withRoom(createRoom(named))
      const result = await (canBeNamed ? handleNamed(taken, own) : handleOnce(taken, own))
      noteEnd(agentId, facts.path, outcomeOf(result), context)
      context.log.debug({ status: result.status, ms: performance.now() - start, ...facts }, 'operation')
      const notices = await noticesFor(agentId, context)
      return notices === undefined ? result : insertNotices(result, notices)
    } catch (error) {
      const failure = withGivenPath(toFailure(error, name, context.signal), taken)
      noteEnd(agentId, facts.path, failure.code, context)
      if (failure.code === 'DEADLOCK') reportCircle(failure, name, context)
      logFailure(failure, { ...facts, code: failure.code, ms: performance.now() - start }, context)
      // No client may be there to read the answer of a cancelled call.
      throw failure.code === 'CANCELLED' ? failure : failure.withNotices(await noticesFor(agentId, context))
    } finally {
      context.work.release()
    }
  }

  function noteEnd(agentId: string | undefined, path: unknown, outcome: string, { activity }: OperationContext): void {
    const isReading = definition.annotations.readOnlyHint
    // What hooks report has an entry of its own.
    if (agentId !== undefined && definition.isForOperators !== true)
      activity.agents.ended(agentId, { operation: name, path, outcome, isReading })
  }

  function take(rawInput: unknown): Static<Input> & { agent_id?: string; change_set?: string } {
    try {
      return check(takeAround(rawInput ?? {}, list))
    } catch (error) {
      throw error instanceof OperationError ? withGivenPath(error, rawInput) : error
    }
  }

  const handleOnce = async (taken: Static<Input>, context: OperationContext) =>
    (await handle(taken, context)) as OperationResult

  /** Each item of a list has a receipt of its own, which its handler asks for. */
  function handleNamed(taken: Static<Input>, context: OperationContext): Promise<OperationResult> {
    const asked = async () => (ownItems === undefined ? taken : withFullItems(taken, ownItems))
    return runNamed(name, taken, { context, asked }, (receipt) => {
      const carryOut = () => handleOnce(taken, context.withReceipt(receipt))
      return ownItems === undefined ? once(receipt, carryOut) : carryOut()
    })
  }

  /** The FES envelope has no room for notices, nor have the bytes of a file: they wait for another answer. */
  async function noticesFor(agentId: string | undefined, context: OperationContext) {
    if (envelope !== 'status' || context.caller.takesNotices === false) return undefined
    const notices = await collectNotices(agentId, context)
    if (notices !== undefined) context.counts.notices += notices.notices.length
    return notices
  }

  const repeats = repeatsOf(definition)
  return { ...definition, envelope: envelopes[envelope], repeats, call, unpack: createUnpack(input as JsonSchema) }
}

/** In a word, for the board. */
function outcomeOf({ status = 'ok', merged }: OperationResult): string {
  return merged === true ? 'merged' : status
}

function repeatsOf({ annotations, input }: Pick<Definition<TObject, TObject>, 'annotations' | 'input'>): Repeats {
  if ('request_id' in input.properties) return 'by-receipt'
  if (annotations.readOnlyHint) return 'always'
  // What a lease operation has done, it does not do again.
  return annotations.idempotentHint && !annotations.destructiveHint ? 'same-journal' : 'never'
}

/** Before what can be long, so that a reader who is shown only the beginning sees them. */
function insertNotices(result: OperationResult, notices: object): OperationResult {
  const { content, diff, ...others } = result
  return { ...others, ...notices, ...('content' in result && { content }), ...('diff' in result && { diff }) }
}

/** The same input with a list whose items are not checked. */
function withAnyItems<Input extends TObject>(input: Input, list: string): Input {
  return { ...input, properties: { ...input.properties, [list]: { ...input.properties[list], items: {} } } }
}

/** An INVALID_REQUEST about one file says which, even if it is another parameter that is wrong. */
function withGivenPath(error: OperationError, input: unknown): OperationError {
  return error.code === 'INVALID_REQUEST' ? toOperationError(error, givenPath(input)) : error
}

/** Copies an input except for the items of one list, which the handler copies one by one. */
function takeAround(rawInput: unknown, list: string | undefined): unknown {
  if (list === undefined || !hasList(rawInput, list)) return takeInput(rawInput)
  const { [list]: items, ...others } = rawInput
  return { ...(takeInput(others) as object), [list]: items }
}

function hasList(input: unknown, list: string): input is Readonly<Record<string, unknown>> {
  return typeof input === 'object' && input !== null && Array.isArray((input as Record<string, unknown>)[list])
}

const agentIdValidator = new Validator<string>('agent_id', AgentId)

/** A header or `_meta` names its caller within the same bounds as the input does: other agents are shown the name. */
export function checkAgentId(agentId: string | undefined): string | undefined {
  if (agentId === undefined || agentIdValidator.accepts(agentId)) return agentId
  const message =
    'The agent id of the request (X-Agent-Id or _meta) must have 1 to 200 characters and no control characters.'
  throw new OperationError('INVALID_REQUEST', message)
}

const changeSetValidator = new Validator<string>('change_set', ChangeSet)

function checkChangeSet(changeSet: string | undefined): string | undefined {
  if (changeSet === undefined || changeSetValidator.accepts(changeSet)) return changeSet
  const message =
    'The change set of the request (X-Change-Set) must have 1 to 100 characters and no control characters.'
  throw new OperationError('INVALID_REQUEST', message)
}

/** Agents are shown these names for changes that no agent has made. */
const reserved: ReadonlySet<string> = new Set(['external', 'anonymous'])

/** @throws OperationError INVALID_REQUEST */
function refuseReserved(agentId: string | undefined): string | undefined {
  if (agentId === undefined || !reserved.has(agentId.toLowerCase())) return agentId
  const message = `"${agentId}" cannot be an agent_id: it marks changes made outside the server. Pass another agent_id.`
  throw new OperationError('INVALID_REQUEST', message)
}

const maxLoggedPaths = 10

/** The file that a call is about, for the log; a batch has none of its own. */
function pathOf(input: object): unknown {
  if ('path' in input) return input.path
  if ('name' in input) return input.name
  if ('filepaths' in input && Array.isArray(input.filepaths)) return input.filepaths.slice(0, maxLoggedPaths)
  return 'old_path' in input ? input.old_path : undefined
}

/** A wait that was refused since it would never have ended: the board shows it. */
function reportCircle({ details, path = '' }: OperationError, operation: string, context: OperationContext): void {
  const waits = (details?.['waits'] ?? []) as { agent_id: string; waits_for: string }[]
  context.activity.troubles.refusedCircle(waits)
  context.events.publish({ type: 'deadlock', path, agent_id: waits[0]?.agent_id ?? null, operation, waits })
}

function toFailure(error: unknown, operation: string, signal: AbortSignal): OperationError {
  if (!signal.aborted || error instanceof OperationError) return toOperationError(error)
  return new OperationError('CANCELLED', `${operation} was cancelled; nothing was changed.`, { cause: error })
}

/** Logs an unexpected failure with its cause, and, as PRD 4.7 asks, that a client left the queue. */
function logFailure(failure: OperationError, facts: object, { log }: Pick<OperationContext, 'log'>): void {
  if (failure.code === 'CANCELLED') log.info(facts, 'client cancelled or disconnected')
  else if (failure.httpStatus === 500) log.error({ ...facts, err: failure.cause ?? failure }, 'operation failed')
  else log.debug(facts, 'operation')
}
