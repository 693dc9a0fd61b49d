// What `async-crud-mcp run` reports of the command that it runs: the harness of everybody who has none.
import { resolve } from 'node:path'
import { requireText, textOf, toCommand } from './fields.ts'
import type { Harness, NativeEvent } from './native-call.ts'

export const run: Harness = {
  reportsReads: false,
  read(event) {
    const name = requireText(event, 'event')
    const command = toCommand(event, resolve(requireText(event, 'cwd')))
    const types: Readonly<Record<string, NativeEvent['type']>> = { before: 'before_command', after: 'after_command' }
    const type = types[name]
    if (command === undefined || (type !== 'before_command' && type !== 'after_command')) return undefined
    return {
      session: requireText(event, 'session'),
      callId: requireText(event, 'id'),
      changeSet: textOf(event, 'change_set'),
      event: { type, ...command }
    }
  },
  /** There is no model: notices wait for a call of the same agent. */
  write: (event, { refusal, context }) => {
    if (refusal !== undefined) return { refusal }
    return context === undefined || event['event'] !== 'before' ? null : { note: context }
  }
}
