// async-crud-mcp run: runs a command, and has the server record what it changes as that of an agent.
import { CommanderError, type Command } from 'commander'
import { asCalled } from '../../support/as-called.ts'
import { messageOf } from '../../support/error-message.ts'
import { toBase } from '../hook/find-server.ts'
import { act, concernsLayers, type LayerFlags } from '../isolated/act.ts'
import { createReport } from '../run/report.ts'
import { runProcess } from '../run/run-process.ts'
import { createCommand } from './command.ts'

interface RunFlags extends LayerFlags {
  readonly agent?: string
  readonly changeSet?: string
  readonly url?: string
  readonly token?: string
}

/** Of its own failures and refusals; all other codes are those of the command. */
const failureCode = 125

/** As a server takes names. */
const name = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}][^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u
const reserved = ['external', 'anonymous']

export async function runRun(args: readonly string[]): Promise<void> {
  try {
    await createRunCommand().exitOverride().parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : failureCode
  }
}

export function createRunCommand(): Command {
  return createCommand('run')
    .description('runs a command, and records what it changes as that of an agent (docs/commands.md)')
    .usage('[options] -- <command> [arguments...]')
    .argument('[command...]')
    .passThroughOptions()
    .option('--agent <id>', 'the agent whose command it is (default: ASYNC_CRUD_MCP_AGENT_ID, otherwise run/<user>)')
    .option('--change-set <name>', 'the task that its changes belong to')
    .option('--url <address>', 'the server (default: found by its state file, above the current folder)')
    .option('--token <secret>', 'bearer token of the server (default: ASYNC_CRUD_MCP_DAEMON__TOKEN)')
    .option('--isolated', 'all that the command writes goes over at its end, or nothing (Linux)')
    .option('--keep', 'with --isolated: keeps what the command wrote if it does not go over')
    .option('--list', 'shows what is kept')
    .option('--apply <id>', 'takes over what is kept')
    .option('--drop <id>', 'drops what is kept')
    .addHelpText('after', '\nExample: async-crud-mcp run --agent ann -- npm run format')
    .action(async (words: readonly string[], flags: RunFlags) => {
      try {
        process.exitCode = await run(words, flags)
      } catch (error) {
        warn(messageOf(error))
        process.exitCode = failureCode
      }
    })
}

async function run(command: readonly string[], flags: RunFlags): Promise<number> {
  const { env } = process
  const agent = flags.agent ?? (env['ASYNC_CRUD_MCP_AGENT_ID'] || undefined)
  checkName('--agent', agent, 200)
  checkName('--change-set', flags.changeSet, 100)
  if (agent !== undefined && reserved.includes(agent.toLowerCase()))
    throw new Error(`"${agent}" cannot be an agent: it marks changes made outside the server. Pass another --agent.`)
  if (concernsLayers(flags) && (flags.url !== undefined || flags.token !== undefined))
    throw new Error('--url and --token go with a plain run: a layer is of the server of this folder, on this machine.')
  if (command.length === 0 && (flags.isolated === true || !concernsLayers(flags)))
    throw new Error('no command: async-crud-mcp run -- <command> [arguments...]')
  if (concernsLayers(flags)) return act(command, { ...flags, agent, changeSet: flags.changeSet })
  const report = createReport({
    command,
    cwd: process.cwd(),
    agent,
    changeSet: flags.changeSet,
    url: flags.url === undefined ? undefined : toBase(flags.url),
    token: flags.token ?? env['ASYNC_CRUD_MCP_DAEMON__TOKEN'] ?? ''
  })
  let isReported = false
  try {
    const { refusal, note } = await report.begin()
    if (refusal !== undefined) throw new Refused(refusal)
    if (note !== undefined) warn(note)
    isReported = true
  } catch (error) {
    if (error instanceof Refused) throw error
    warn(`${messageOf(error)}. The command runs all the same; who made its changes is not recorded.`)
  }
  try {
    return await runProcess(command)
  } finally {
    if (isReported)
      await report.end().catch((error: unknown) => warn(`the end of the command was not reported: ${messageOf(error)}`))
  }
}

class Refused extends Error {}

/** @throws Error that says what a name is */
function checkName(flag: string, value: string | undefined, maxLength: number): void {
  if (value === undefined || (value.length <= maxLength && name.test(value))) return
  throw new Error(`${flag} must have 1 to ${maxLength} characters, on one line.`)
}

function warn(text: string): void {
  process.stderr.write(`async-crud-mcp run: ${asCalled(text)}\n`)
}
