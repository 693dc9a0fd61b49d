// Reports a command that runs to the server of its tree: its start, that it goes on, and its end.
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { orUndefined } from '../../support/attempt.ts'
import { askServer } from '../hook/ask-server.ts'
import { findServerOf, type Server } from '../hook/find-server.ts'

export interface Reported {
  readonly command: readonly string[]
  readonly cwd: string
  readonly agent: string | undefined
  readonly changeSet: string | undefined
  /** The server; undefined for that of the tree in which the command runs. */
  readonly url: URL | undefined
  readonly token: string
}

export interface Answer {
  /** Why the command must not run. */
  readonly refusal?: string
  /** What its caller should know. */
  readonly note?: string
}

export type Report = ReturnType<typeof createReport>

/** The command must not wait longer for a server that hangs. */
const patienceMs = 3000
/** The server takes a command that it hears nothing of for ended after ten minutes. */
const renewMs = 240_000
const mostWaitMs = 60_000
/** Of the clock with which file systems stamp changes: what a command writes at once would seem to be older than its start. */
const clockGrainMs = 10

export function createReport({ command, cwd, agent, changeSet, url, token }: Reported) {
  const session = orUndefined(() => userInfo().username) ?? 'run'
  const facts = { command, cwd, session, id: randomUUID(), ...(changeSet !== undefined && { change_set: changeSet }) }
  let server: Server | undefined
  let timer: NodeJS.Timeout | undefined

  async function ask(event: 'before' | 'after'): Promise<Answer> {
    server ??= url === undefined ? findServerOf({ cwd }) : { url }
    const controller = new AbortController()
    const patience = (ms: number) => setTimeout(() => controller.abort(new Error('the server does not answer')), ms)
    let over = patience(patienceMs)
    const onWait = (seconds: number) => {
      clearTimeout(over)
      over = patience(Math.min(seconds * 1000, mostWaitMs) + patienceMs)
    }
    try {
      const text = JSON.stringify({ event, ...facts })
      const question = {
        harness: 'run',
        event: text,
        agent,
        token,
        waitSeconds: undefined,
        signal: controller.signal,
        onWait
      }
      return JSON.parse(await askServer(server, question)) as Answer
    } catch (error) {
      throw controller.signal.aborted ? controller.signal.reason : error
    } finally {
      clearTimeout(over)
    }
  }

  return {
    /** @throws Error that says why the server does not know of the command */
    async begin(): Promise<Answer> {
      const answer = await ask('before')
      timer = setInterval(() => void ask('before').catch(() => {}), renewMs).unref()
      await delay(clockGrainMs)
      return answer
    },
    /** @throws Error that says why the server does not know of the end */
    async end(): Promise<void> {
      clearInterval(timer)
      await ask('after')
    }
  }
}
