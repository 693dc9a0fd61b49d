// async-crud-mcp guard: a pre-tool hook that keeps native edits off files that another agent has leased, or that need a lease.
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { messageOf } from '../../support/error-message.ts'
import { findServerOf, toBase } from '../hook/find-server.ts'
import { deny, denyLeased, denyUnleased, type Decision, type Lacking } from '../hook/guard/decision.ts'
import { parseHookInput } from '../hook/guard/hook-input.ts'
import { findStanding, type Inquiry, type Standing } from '../hook/guard/leases.ts'

interface Flags {
  readonly agent?: string
  readonly url?: URL
  readonly token?: string
  /** Seconds. */
  readonly timeout: number
  readonly closed?: boolean
}

/** Answers one hook call. Always exits with 0, even on wrong flags: harnesses differ in what they do with other codes. */
export async function runGuard(args: readonly string[]): Promise<void> {
  try {
    const command = createGuardCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    await command.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) answer(explainFailure(error, args.includes('--closed')))
  }
}

export function createGuardCommand(): Command {
  return new Command('guard')
    .description(
      'a pre-tool hook: refuses a native edit of a file that another agent has leased (docs/native-tools.md)'
    )
    .option('--agent <id>', 'the agent whose leases do not count (default: ASYNC_CRUD_MCP_AGENT_ID, otherwise guard)')
    .option(
      '--url <address>',
      'the server (default: found by its state file, above the edited file or the session)',
      toAddress
    )
    .option('--token <secret>', 'bearer token of the server (default: ASYNC_CRUD_MCP_DAEMON__TOKEN)')
    .option('--timeout <seconds>', 'time to find out who has leased the file, 0.1-60', toSeconds, 2)
    .option(
      '--closed',
      'refuse the edit if that cannot be found out (default: ASYNC_CRUD_MCP_GUARD_CLOSED=1, else warn)'
    )
    .allowExcessArguments(false)
    .action(async (flags: Flags) => {
      answer(await decide(flags).catch((error: unknown) => explainFailure(error, flags.closed ?? false)))
    })
}

async function decide({ agent, url, token, timeout }: Flags): Promise<Decision | undefined> {
  const { env } = process
  const signal = AbortSignal.timeout(timeout * 1000)
  const edit = parseHookInput(await readInput(signal))
  if (edit === undefined) return undefined
  const agentId = agent ?? env['ASYNC_CRUD_MCP_AGENT_ID'] ?? 'guard'
  const caller = { agentId, token: token ?? env['ASYNC_CRUD_MCP_DAEMON__TOKEN'] ?? '', signal }
  const lacking: Lacking[] = []
  const failures: unknown[] = []
  for (const file of edit.files) {
    try {
      const { others, lack } = await ask(
        { ...caller, server: url === undefined ? findServerOf({ file, cwd: edit.cwd }) : { url }, file },
        timeout
      )
      if (others.length > 0) return denyLeased(edit, file, others)
      if (lack !== undefined) lacking.push({ file, lack })
    } catch (error) {
      // Another of the files may be leased all the same.
      failures.push(error)
    }
  }
  const [first, ...more] = lacking
  if (first !== undefined) return denyUnleased(edit, [first, ...more], agentId)
  if (failures.length > 0) throw failures[0]
  return undefined
}

async function ask(inquiry: Inquiry, timeout: number): Promise<Standing> {
  const { server, file, signal } = inquiry
  try {
    return await findStanding(inquiry)
  } catch (error) {
    const reason = signal.aborted ? `no answer within ${timeout} s` : wordsOf(error)
    const where = server.url?.origin ?? `the server of ${server.root}`
    throw new Error(`could not ask ${where} who has leased ${file}: ${reason}`, { cause: error })
  }
}

async function readInput(signal: AbortSignal): Promise<string> {
  const input = text(process.stdin)
  const timeout = once(signal, 'abort').then(() => {
    throw new Error('the hook input on standard input does not end')
  })
  return Promise.race([input, timeout])
}

function answer(decision: Decision | undefined): void {
  // A harness that keeps standard input open must not keep this process running.
  process.stdin.destroy()
  if (decision !== undefined) process.stdout.write(`${JSON.stringify(decision)}\n`)
}

function explainFailure(error: unknown, closedByFlag: boolean): Decision {
  const isClosed = closedByFlag || /^(?:1|true|yes|on)$/i.test(process.env['ASYNC_CRUD_MCP_GUARD_CLOSED'] ?? '')
  const outcome = isClosed
    ? 'The edit was not run, because this guard is closed (--closed). Start the server, or ask the operator.'
    : 'The edit goes on unchecked.'
  const message = `async-crud-mcp guard: ${wordsOf(error)}. ${outcome}`
  process.stderr.write(`${message}\n`)
  return isClosed ? deny(message) : { systemMessage: message }
}

function toAddress(value: string): URL {
  try {
    return toBase(value)
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
}

function toSeconds(value: string): number {
  const seconds = Number(value)
  if (seconds >= 0.1 && seconds <= 60) return seconds
  throw new InvalidArgumentError('Expected a number from 0.1 to 60.')
}

function wordsOf(error: unknown): string {
  return messageOf(error)
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/\.$/, '')
}
