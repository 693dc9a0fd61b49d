// The answer to one event of a harness: finds the server of its tree, asks it, and gives up on one that does not answer.
import { askServer } from './ask-server.ts'
import { readEvent, type EventFacts } from './event-facts.ts'
import { findServerOf } from './find-server.ts'
import { toRefusal } from './refusal.ts'

/** Until the first sign of the server, and beyond the wait that it announces: one that hangs must not make the harness hang. */
export const defaultPatienceSeconds = 2
export const mostSeconds = 60

export interface HookOptions {
  /** Empty if the flags name none. */
  readonly harness: string
  readonly agent: string | undefined
  /** Of the server, if it is not to be found by the event. */
  readonly url?: URL | undefined
  readonly token: string
  /** Undefined leaves it to the settings of the server. */
  readonly waitSeconds?: number | undefined
  readonly patienceSeconds: number
  /** A tool that no server could judge is refused. */
  readonly isClosed: boolean
  /** What is wrong with the flags: then no server is asked. */
  readonly problem?: string
}

export interface HookAnswer {
  /** JSON for the harness; "{}" for nothing. */
  readonly json: string
  /** Why no server has answered, and what becomes of the tool: one line. */
  readonly failure?: string
  /** Because of the failure. */
  readonly isRefused?: boolean
}

/** Never fails. @param given JSON, as the harness gives it */
export async function answerEvent(given: string | Promise<string>, options: HookOptions): Promise<HookAnswer> {
  let facts: EventFacts | undefined
  try {
    const deadline = createDeadline(options.patienceSeconds * 1000)
    const event = await deadline.orFail(given, 'the hook input on standard input does not end')
    facts = readEvent(event)
    const { harness, agent, url, token, waitSeconds, problem } = options
    if (problem !== undefined) throw new Error(problem)
    const question = {
      harness,
      event,
      agent,
      token,
      waitSeconds: facts.isBefore ? waitSeconds : 0,
      signal: deadline.signal,
      onWait: (seconds: number) => deadline.extend(Math.min(seconds, mostSeconds) * 1000)
    }
    const asked = askServer(url === undefined ? findServerOf(facts) : { url }, question)
    return { json: await deadline.orFail(asked, 'the server does not answer') }
  } catch (error) {
    return explainFailure(error, options, facts)
  }
}

/** Lets the tool go on, unless the operator wants it refused: then wrong flags are no way around. */
function explainFailure(
  error: unknown,
  { harness, isClosed }: HookOptions,
  { isBefore }: Pick<EventFacts, 'isBefore'> = { isBefore: true }
): HookAnswer {
  const isRefused = isClosed && isBefore
  const outcome = isRefused
    ? 'The tool was not run, because this hook is closed (--closed)'
    : 'The tool goes on unchecked'
  const failure = `async-crud-mcp hook: ${messageOf(error)}. ${outcome}.`
  return { json: isRefused ? toRefusal(harness, failure) : '{}', failure, isRefused }
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
    async orFail<Result>(work: Result | Promise<Result>, otherwise: string): Promise<Result> {
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

function messageOf(error: unknown): string {
  const { message } =
    error instanceof Error
      ? error.name === 'AbortError'
        ? new Error('the server does not answer')
        : error
      : new Error(String(error))
  return message.replaceAll('\n', ' ').replace(/\.$/, '')
}
