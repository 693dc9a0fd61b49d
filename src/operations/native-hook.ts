// native_hook: what a harness reports before and after its own tools, which then stand in the same queues as this server's operations.
import { agentText, changeSetText } from '../../schemas/common.ts'
import { contract } from '../../schemas/contract.ts'
import type { NativeHookInput, NativeHookOutput } from '../../schemas/native-hook.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { collectNotices, readAgainHint } from '../engine/notices/notices.ts'
import { messageOf } from '../support/error-message.ts'
import type { Fields } from '../support/json-fields.ts'
import { timestamp } from '../support/timestamp.ts'
import { beginCommand, endCommand, endCommandsOf, endForeground, endTask } from './commands/bracket.ts'
import { defineOperation } from './definition/define.ts'
import { textOf } from './native/fields.ts'
import { parseCommand } from './commands/command-line.ts'
import { judgeCommand, maxJudgeMs } from './commands/judge-command.ts'
import { harnesses } from './native/harnesses.ts'
import type { Harness, NativeCall, Outcome } from './native/native-call.ts'
import { beginNativeEdit, endNativeEdit } from './native/native-edit.ts'
import { recordShown } from './native/record-shown.ts'
import { beginningOf } from '../support/cut-text.ts'

/** A hook that hears nothing for a while takes the server to hang. */
const quietMs = 100

export const nativeHook = defineOperation({
  name: 'native_hook',
  title: 'Take part in native tools',
  description:
    'For operators, over REST only: what the hooks of a harness (Claude Code, Codex, Gemini CLI, Cursor, opencode) call before and after its own tools. Before a native edit the file is locked for that tool, and the edit is refused if it would overwrite what its session has not seen; after it the new version is recorded as that of its agent. POST /hooks/<harness> takes the same event as its body.',
  ...contract.native_hook,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [],
  isForOperators: true,
  handle: answer
})

async function answer(input: NativeHookInput, context: OperationContext): Promise<Static<typeof NativeHookOutput>> {
  const harness = harnesses[input.harness]
  const event = input.event as Fields
  const call = understand(input, harness, context)
  const outcome = call === undefined ? {} : await carryOut(input, harness, call, context)
  return { status: 'ok', answer: harness.write(event, outcome), timestamp: timestamp() }
}

/** Undefined for what concerns no file, and for what this version does not know: the tool goes on. */
function understand(
  { harness: name, event }: NativeHookInput,
  harness: Harness,
  { nativeTurns, log }: OperationContext
): NativeCall | undefined {
  let problem = 'not known here'
  try {
    const call = harness.read(event)
    if (call !== undefined) return call
  } catch (error) {
    problem = messageOf(error)
  }
  const fields = event as Fields
  const kind = [textOf(fields, 'hook_event_name', 'event'), textOf(fields, 'tool_name', 'tool')].map((name = '') =>
    beginningOf(name, 100)
  )
  if (nativeTurns.isNewKind([name, ...kind, problem].join(' ')))
    log.info({ harness: name, event: kind[0], tool: kind[1], problem }, 'a hook was let pass')
  return undefined
}

async function carryOut(
  input: NativeHookInput,
  harness: Harness,
  call: NativeCall,
  shared: OperationContext
): Promise<Outcome> {
  const { session, subagent, changeSet, event } = call
  const owner = input.agent_id ?? toName(`${input.harness}/${session}`)
  const agentId = subagent === undefined ? owner : toName(`${owner}/${subagent}`)
  const context = shared.withAgent(agentId, changeSet && toName(changeSet).slice(0, changeSetText.maxLength))
  const { agents } = context.activity
  const path = pathOf(event)
  agents.saw(agentId, 'native_hook', path, { transport: 'hooks', client: input.harness })
  const outcome = await takePart(input, harness, call, { agentId, context })
  agents.ended(agentId, {
    operation: `hook: ${event.type.replace('_', ' ')}`,
    path,
    outcome: outcome.refusal === undefined ? 'ok' : 'refused',
    isReading: event.type === 'after_read'
  })
  return outcome
}

async function takePart(
  { wait_seconds, event: given }: NativeHookInput,
  harness: Harness,
  { callId, event }: NativeCall,
  { agentId, context }: { readonly agentId: string; readonly context: OperationContext }
): Promise<Outcome> {
  const { native_wait_seconds } = context.config.locks
  // What a harness would drop, the model is told with a later event.
  const isHeard = harness.write(given, { context: '' }) !== null
  switch (event.type) {
    case 'before_edit': {
      const edit = { agentId, callId, harness, ...event }
      return { refusal: await beginNativeEdit(context, edit, wait_seconds ?? native_wait_seconds) }
    }
    case 'after_edit': {
      const unseen = await endNativeEdit(context, { agentId, callId, harness, ...event })
      return { context: join(unseen, await newsFor(agentId, context, isHeard)) }
    }
    case 'before_command': {
      const line = parseCommand(event.command, event.cwd)
      return announced(context, async () => {
        const { refusal, note } = await judgeCommand(context, { agentId, line, ...event })
        if (refusal !== undefined) return { refusal }
        await beginCommand(context, { agentId, callId, line, ...(!isHeard && { note }), ...event })
        return { context: isHeard ? note : undefined }
      })
    }
    case 'after_command': {
      const note = await endCommand(context, { agentId, callId, ...event })
      return { context: join(note, await newsFor(agentId, context, isHeard)) }
    }
    case 'task_end':
      await endTask(context, agentId, event.task)
      return { context: await newsFor(agentId, context, isHeard) }
    case 'after_read':
      await recordShown(context, agentId, event.shown)
      return { context: await newsFor(agentId, context, isHeard) }
    case 'prompt':
      if (event.isNewTurn === true) await endForeground(context, agentId)
      return { context: await newsFor(agentId, context, isHeard) }
    case 'end':
      await endAgents(context, (one) => one === agentId || (event.withSubagents && one.startsWith(`${agentId}/`)))
      return {}
    default:
      return event satisfies never
  }
}

/** In a large tree Git takes seconds: the hook is told that it is waited for, before it takes the server to hang. */
async function announced({ progress, config }: OperationContext, work: () => Promise<Outcome>): Promise<Outcome> {
  const waitSeconds = (maxJudgeMs + config.hooks.look_ms) / 1000
  const announce = () => progress?.({ message: 'Git is asked what the command may change', waitSeconds })
  const timer = setTimeout(announce, quietMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Of its first file. */
function pathOf(event: NativeCall['event']): string | undefined {
  if (event.type === 'after_read') return event.shown[0]?.path
  return 'edits' in event ? event.edits[0]?.path : undefined
}

/** Ends what the agents of a session hold or wait for. */
async function endAgents(context: OperationContext, isMeant: (agentId: string) => boolean): Promise<void> {
  const { nativeTurns, locks, tickets, lostLeases } = context
  await Promise.all([nativeTurns.end(isMeant), endCommandsOf(context, isMeant)])
  const holders = new Set([...locks.leases.all()].map((lease) => lease.agentId).filter(isMeant))
  for (const holder of holders) {
    tickets.leave(holder)
    lostLeases.forget(holder)
    locks.leases.releaseAll(holder)
  }
}

/** Its name, once, since a model may also call operations over MCP; and its notices. */
async function newsFor(agentId: string, context: OperationContext, isHeard: boolean): Promise<string | undefined> {
  if (!isHeard) return undefined
  const name = context.nativeTurns.isNewAgent(agentId)
    ? `async-crud-mcp knows you as ${JSON.stringify(agentId)}: pass this as agent_id when you call its tools. Under another name your own leases would block your edits.`
    : undefined
  return join(name, await noticeText(agentId, context))
}

/** What others have changed of what the agent has seen, each once. */
async function noticeText(agentId: string, context: OperationContext): Promise<string | undefined> {
  const told = await collectNotices(agentId, context)
  if (told === undefined) return undefined
  const { notices, further_notices: further = 0 } = told
  context.counts.notices += notices.length
  const lines = notices.map(({ message }) => `- ${message.replace(readAgainHint, '')}`)
  const more = further > 0 ? [`- ${further} more changes will be reported with your next tool.`] : []
  return ['async-crud-mcp reports:', ...lines, ...more].join('\n')
}

function join(...parts: readonly (string | undefined)[]): string | undefined {
  const texts = parts.filter((part) => part !== undefined)
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** A harness chooses the names of its sessions; those of agents have one line, and bounds. */
function toName(name: string): string {
  return name.slice(0, agentText.maxLength).replaceAll(/[^\w.@:/+ -]/g, '_')
}
