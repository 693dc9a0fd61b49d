// async-crud-mcp hook <harness>: passes what a harness reports of its own tools to the server, and prints the answer.
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { askServer } from './ask-server.ts'
import { readEvent, type EventFacts } from './event-facts.ts'
import { findServerOf, toBase } from './find-server.ts'
import { harnessNames, toRefusal } from './refusal.ts'

const usage = `usage: async-crud-mcp hook <${harnessNames.join('|')}> [--agent <id>] [--url <address>] [--token <secret>] [--wait <seconds>] [--patience <seconds>] [--closed]`

/** Beyond the wait for a lock: a server that hangs must not make the harness hang. */
const defaultPatienceSeconds = 0.3
const mostSeconds = 60

/** Ends with 0: harnesses read the answer after 0 only. With 2, which they take as a refusal, only if there is no form for an answer. */
export async function runHook(args: readonly string[]): Promise<void> {
  const given = parse(args)
  let facts: EventFacts | undefined
  let answer = '{}'
  try {
    const patienceSeconds = typeof given === 'string' ? defaultPatienceSeconds : given.patienceSeconds
    const deadline = createDeadline(patienceSeconds * 1000)
    const event = await deadline.orFail(text(process.stdin), 'the hook input on standard input does not end')
    facts = readEvent(event)
    if (typeof given === 'string') throw new Error(given)
    const { harness, agent, url, token, waitSeconds } = given
    const question = {
      harness,
      event,
      agent,
      token,
      waitSeconds: facts.isBefore ? waitSeconds : 0,
      signal: deadline.signal,
      onWait: (seconds: number) => deadline.extend(Math.min(seconds, mostSeconds) * 1000)
    }
    answer = await deadline.orFail(
      askServer(url === undefined ? findServerOf(facts) : { url }, question),
      'the server does not answer'
    )
  } catch (error) {
    answer = explainFailure(typeof given === 'string' ? new Error(given) : error, args, facts)
  }
  // A harness that keeps standard input open must not keep this process running.
  process.stdin.destroy()
  if (answer !== '{}') process.stdout.write(`${answer}\n`)
}

interface Given {
  readonly harness: string
  readonly agent: string | undefined
  readonly url: URL | undefined
  readonly token: string
  readonly waitSeconds: number | undefined
  readonly patienceSeconds: number
}

/** @returns what is wrong, or what was given */
function parse(args: readonly string[]): Given | string {
  const { env } = process
  const text = { type: 'string' } as const
  try {
    const options = {
      agent: text,
      url: text,
      token: text,
      wait: text,
      patience: text,
      closed: { type: 'boolean' },
      help: { type: 'boolean' }
    } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [harness = '', ...others] = positionals
    const waitSeconds = values.wait === undefined ? undefined : Number(values.wait)
    const patienceSeconds = Number(values.patience ?? (env['ASYNC_CRUD_MCP_HOOK_PATIENCE'] || defaultPatienceSeconds))
    const areTimes = [waitSeconds ?? 0, patienceSeconds].every((seconds) => seconds >= 0 && seconds <= mostSeconds)
    if (values.help === true || others.length > 0 || !harnessNames.includes(harness) || !areTimes) return usage
    return {
      harness,
      agent: values.agent ?? (env['ASYNC_CRUD_MCP_AGENT_ID'] || undefined),
      url: values.url === undefined ? undefined : toBase(values.url),
      token: values.token ?? env['ASYNC_CRUD_MCP_DAEMON__TOKEN'] ?? '',
      waitSeconds,
      patienceSeconds
    }
  } catch (error) {
    return `${messageOf(error)}. ${usage}`
  }
}

function createDeadline(ms: number) {
  const controller = new AbortController()
  let timer = setTimeout(() => controller.abort(), ms)
  return {
    signal: controller.signal,
    extend(moreMs: number): void {
      clearTimeout(timer)
      timer = setTimeout(() => controller.abort(), moreMs + ms)
    },
    async orFail<Result>(work: Promise<Result>, otherwise: string): Promise<Result> {
      const over = new Promise<never>((_resolve, reject) => {
        controller.signal.addEventListener('abort', () => reject(new Error(otherwise)), { once: true })
      })
      try {
        return await Promise.race([work, over])
      } finally {
        timer.unref()
      }
    }
  }
}

/** Lets the tool go on, with one line for the log of the harness, unless the operator wants it refused: then wrong flags are no way around. */
function explainFailure(error: unknown, args: readonly string[], facts: EventFacts | undefined): string {
  const isRefused = isClosed(args) && facts?.isBefore !== false
  const outcome = isRefused
    ? 'The tool was not run, because this hook is closed (--closed)'
    : 'The tool goes on unchecked'
  const message = `async-crud-mcp hook: ${messageOf(error)}. ${outcome}.`
  process.stderr.write(`${message}\n`)
  if (!isRefused) return '{}'
  const harness = args.find((arg) => harnessNames.includes(arg))
  if (harness === undefined) process.exitCode = 2
  return harness === undefined ? '{}' : toRefusal(harness, message)
}

function isClosed(args: readonly string[]): boolean {
  return args.includes('--closed') || /^(?:1|true|yes|on)$/i.test(process.env['ASYNC_CRUD_MCP_HOOK_CLOSED'] ?? '')
}

function messageOf(error: unknown): string {
  const { message } =
    error instanceof Error
      ? error.name === 'AbortError'
        ? new Error('the server does not answer')
        : error
      : new Error(String(error))
  return message.replaceAll('\n', ' ').replace(/\.$/, '')
}
