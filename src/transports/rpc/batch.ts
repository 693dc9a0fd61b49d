// Batches of JSON-RPC: several messages on one line, and one line with their answers.
import { OperationError } from '../../errors.ts'
import { failure, invalidRequest, readMessage, type Call, type Message, type Response } from './messages.ts'

export interface Batches {
  /** Messages in a batch. */
  readonly maxCalls: number
  /** Approximate characters of the answers to one batch; beyond it no further call of the batch is made. */
  readonly maxCharacters: number
  readonly answer: (message: Message) => Promise<Response | undefined>
}

/** Calls of one batch that run at once. */
const batchWorkers = 8

/** @returns undefined if no message of the batch wants an answer */
export async function answerBatch(
  values: readonly unknown[],
  { maxCalls, maxCharacters, answer }: Batches
): Promise<Response | readonly Response[] | undefined> {
  if (values.length === 0) return failure(null, invalidRequest('the batch is empty.'))
  if (values.length > maxCalls)
    return failure(null, invalidRequest(`a batch may have ${maxCalls} messages (daemon.max_stdio_calls).`))
  const answers: (Response | undefined)[] = []
  let next = 0
  let characters = 0
  async function work(): Promise<void> {
    for (let index = next++; index < values.length; index = next++) {
      const message = readMessage(values[index])
      const answered = characters > maxCharacters ? refuse(message, isFull(maxCharacters)) : await answer(message)
      answers[index] = answered
      characters += sizeOf(answered)
    }
  }
  await Promise.all(Array.from({ length: batchWorkers }, work))
  const responses = answers.filter((answered) => answered !== undefined)
  return responses.length === 0 ? undefined : responses
}

function isFull(maxCharacters: number): OperationError {
  const text = `The answers of the batch already have ${maxCharacters} characters (crud.max_batch_answer_bytes); this call was not made. Send it again.`
  return new OperationError('OVERLOADED', text)
}

/** Approximate length as JSON; only text counts. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 0)
}

/** The answer to a call that is not made; a notification gets none. */
export function refuse(message: Message, error: OperationError): Response | undefined {
  if (message.kind !== 'call') return message.kind === 'invalid' ? message.answer : undefined
  const { id, method } = message.call
  return id === undefined ? undefined : failure(id, error, method)
}

/** Messages of MCP must come one by one: its current revisions know no batches. */
export async function refuseInBatch(call: Call | undefined): Promise<Response | undefined> {
  if (call?.id === undefined) return undefined
  const reason = 'MCP messages cannot be sent in a batch. Send one message a line.'
  return failure(call.id, invalidRequest(reason), call.method)
}
