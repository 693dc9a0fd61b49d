// native_hook as a tool, for hooks that call a tool of a connected server (type mcp_tool). It is not listed: no model is offered it.
import { orUndefined } from '../../support/attempt.ts'
import type { CallOperation, OperationResult } from '../../engine/call/context.ts'
import { toOperationError } from '../../errors.ts'
import { isFields, type Fields } from '../../support/json-fields.ts'
import type { ToolResult } from './tools.ts'

export const hookTool = 'native_hook'

/** Answers the event of a harness without the engine of this process, as a hook program does. @returns JSON for the harness */
export type AnswerHook = (harness: string, event: string) => Promise<string>

/**
 * @param answerHook undefined if this process answers by its own tree
 * @returns the answer for the harness, as text; an error lets the tool go on
 */
export async function callHookTool(
  { call, answerHook }: { readonly call: CallOperation; readonly answerHook?: AnswerHook | undefined },
  input: unknown,
  about: Parameters<CallOperation>[2]
): Promise<ToolResult> {
  const { harness, event, ...others } = isFields(input) ? input : {}
  const whole = isFields(event) ? withoutPlaceholders(event) : event
  try {
    if (answerHook !== undefined && typeof harness === 'string')
      return toResult(await answerHook(harness, JSON.stringify(whole ?? {})))
    const result: OperationResult = await call(hookTool, { ...others, harness, event: whole }, about)
    return toResult(JSON.stringify(result['answer'] ?? {}))
  } catch (error) {
    return { ...toResult(toOperationError(error).message), isError: true }
  }
}

function toResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }] }
}

/** A harness puts its event in member by member: one that the event has not is empty, and one that is no text comes as its JSON. */
function withoutPlaceholders(event: Fields): Fields {
  const given = Object.entries(event).filter(([, value]) => value !== '')
  return Object.fromEntries(given.map(([name, value]) => [name, parsed(value)]))
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value
  return orUndefined(() => JSON.parse(value) as unknown) ?? value
}
