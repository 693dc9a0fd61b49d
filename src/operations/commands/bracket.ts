// The start and the end of a shell command, as its harness reports them.
import { randomUUID } from 'node:crypto'
import type { OperationContext } from '../../engine/call/context.ts'
import { maskSecrets } from '../../engine/commands/mask-secrets.ts'
import type { OpenCommand } from '../../engine/commands/open-command.ts'
import { atMost } from '../../support/at-most.ts'
import { orAborted } from '../../support/shared-rounds.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import type { CommandLine } from '../../support/shell/simple-command.ts'
import { effectOf } from './effect-of.ts'

export interface ReportedCommand {
  readonly agentId: string
  /** Undefined if the harness does not number its calls. */
  readonly callId: string | undefined
  /** The command line. */
  readonly command: string
  /** What the session is told at its end. */
  readonly note?: string | undefined
}

/** A hook must not wait longer for what a command has made; what is found later is recorded all the same. */
const endWaitMs = 150

/** @param line the same command, as it is read */
export async function beginCommand(
  context: OperationContext,
  { agentId, callId, command, note, line }: ReportedCommand & { readonly line: CommandLine | undefined }
): Promise<void> {
  await context.commands.begin({
    agentId,
    callId,
    text: maskSecrets(command),
    changeSet: context.caller.changeSet ?? `command-${randomUUID()}`,
    effect: effectOf(command, line, context),
    ...(note !== undefined && { note })
  })
}

/**
 * @param task the name under which it goes on in the background
 * @returns what its session is to know of it
 */
export async function endCommand(
  { commands }: OperationContext,
  { agentId, callId, command, task }: ReportedCommand & { readonly task?: string | undefined }
): Promise<string | undefined> {
  const known = commands.find(agentId, callId, () => maskSecrets(command))
  if (known === undefined) return undefined
  if (task === undefined) await endWith(known, commands)
  else commands.moveToBackground(known, task)
  return known.note
}

/** A command that was alone has nothing to tell its own session: what it has made is found when the hook has its answer. */
async function endWith(command: OpenCommand, commands: OperationContext['commands']): Promise<void> {
  const hasNews = commands.hasOverlapped(command)
  const ended = withResolvers<void>()
  const settled = atMost(endWaitMs, commands.end(command, ended.resolve))
  await (hasNews ? settled : Promise.race([ended.promise, settled]))
}

export function endTask({ commands }: OperationContext, agentId: string, task: string): Promise<void> {
  return atMost(
    endWaitMs,
    commands.endAll((one) => one.agentId === agentId && one.task === task)
  )
}

/** No command of the agent is running in the foreground any more, though its end was not reported. */
export function endForeground({ commands }: OperationContext, agentId: string): Promise<void> {
  return atMost(
    endWaitMs,
    commands.endAll((one) => one.agentId === agentId && one.task === undefined)
  )
}

export function endCommandsOf({ commands }: OperationContext, isMeant: (agentId: string) => boolean): Promise<void> {
  return atMost(
    endWaitMs,
    commands.endAll((one) => isMeant(one.agentId))
  )
}

/** Resolves once all is logged that commands have made whose end is reported by now. @throws the reason of the signal */
export function awaitCommands({ commands, signal }: Pick<OperationContext, 'commands' | 'signal'>): Promise<void> {
  return orAborted(commands.settled(), signal)
}
