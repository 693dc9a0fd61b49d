// An agent that holds, waits, renews, writes and appends, over whatever way to the tree there is, and records all of it.
import type { Answer } from '../../fixtures/clients.ts'
import { createRandom, type Random } from '../../fixtures/random.ts'
import { now, resultOf, type Call, type Door } from './record.ts'

/** A connection to a process that may end at any time. */
export interface Way {
  readonly door: Door
  /** @throws Error if no answer came, since the process has gone */
  readonly call: (operation: string, input: object) => Promise<Answer>
}

export interface AgentOptions {
  readonly name: string
  readonly files: readonly string[]
  readonly seed: number
  /** Longest time for which it thinks while it has a lease. */
  readonly thoughtMs: number
  /** The way to the tree, once there is one; another one than the one that has failed. */
  readonly wayAfter: (failed: Way | undefined) => Promise<Way>
  readonly calls: Call[]
  /** Resolves after a time in which the agent thinks; sooner if all is over. */
  readonly think: (ms: number) => Promise<void>
  readonly isOver: () => boolean
}

type Details = Pick<Call, 'line' | 'token' | 'timeoutMs'>

export async function runAgent(options: AgentOptions): Promise<void> {
  const { name, files, seed, thoughtMs, wayAfter, calls, think, isOver } = options
  const random = createRandom(seed)
  const chance = (share: number) => random() < share
  let way = await wayAfter(undefined)
  let lastLine = 0

  /** @returns undefined if no answer came; then there is another way by now */
  async function once(operation: string, file: string, input: object, details: Details): Promise<Answer | undefined> {
    const call: Call = { agent: name, door: way.door.name, operation, file, sentAt: now(), ...details }
    calls.push(call)
    try {
      const answer = await way.call(operation, { ...input, agent_id: name })
      call.answeredAt = now()
      call.answer = answer
      if (isSentAway(answer, way)) way = await wayAfter(way)
      return answer
    } catch (error) {
      if (way.door.endingAt === undefined) throw error
      way = await wayAfter(way)
      return undefined
    }
  }

  /** Repeats it until there is an answer. */
  async function insist(operation: string, file: string, input: object, details: Details = {}): Promise<Answer> {
    for (;;) {
      const asked = way
      const answer = await once(operation, file, input, details)
      if (answer !== undefined && !isSentAway(answer, asked)) return answer
    }
  }

  function nextLine(): string {
    lastLine += 1
    return `${name} ${lastLine}`
  }

  /** With a name it is repeated until it is answered, without one never. */
  async function change(operation: string, file: string, line: string, input: object, token?: number): Promise<void> {
    const timeoutMs = 200 + Math.floor(random() * 2000)
    const details = { line, timeoutMs, ...(token !== undefined && { token }) }
    const asked = { path: file, timeout: timeoutMs / 1000, ...(token && { fencing_token: token }), ...input }
    if (chance(0.6)) await insist(operation, file, { ...asked, request_id: line }, details)
    else await once(operation, file, asked, details)
  }

  async function append(file: string, token?: number): Promise<void> {
    const line = nextLine()
    await change('async_append', file, line, { content: `${line}\n` }, token)
  }

  async function update(file: string, token?: number): Promise<void> {
    const known = await insist('async_read', file, { path: file })
    const line = nextLine()
    const content = `${known['content']}${line}\n`
    await change('async_update', file, line, { expected_hash: known['hash'], content }, token)
  }

  async function lease(file: string): Promise<void> {
    const timeoutMs = Math.floor(random() * 3000)
    const wait = { filepaths: [file], timeout_seconds: timeoutMs / 1000 }
    const answer = await (chance(0.7)
      ? insist('lock_wait', file, wait, { timeoutMs })
      : insist('lock_try', file, { filepaths: [file] }))
    const result = resultOf({ answer })
    if (result?.['acquired'] === true) await use(file, result['fencing_token'] as number)
    await insist('lock_release', file, { filepaths: [file] })
  }

  async function use(file: string, token: number): Promise<void> {
    const steps: ((random: Random) => Promise<unknown>)[] = [
      (random) => think(random() * thoughtMs),
      () => insist('lock_renew', file, { filepaths: [file] }),
      () => append(file, token),
      () => update(file, token),
      () => insist('lock_status', file, { filepaths: [file] })
    ]
    for (let count = 0; count < 4; count += 1) await steps[Math.floor(random() * steps.length)]?.(random)
    // The last word on whether it is held still.
    await insist('lock_renew', file, { filepaths: [file] })
  }

  while (!isOver()) {
    const file = files[Math.floor(random() * files.length)] as string
    const act = chance(0.5) ? lease : chance(0.7) ? append : update
    await act(file)
    await think(random() * 60)
  }
}

/** By a process that ends: it has done nothing, or cannot tell what was done. */
function isSentAway({ error_code }: Answer, { door }: Way): boolean {
  if (error_code === 'AUTHORITY_LOST') return door.endingAt !== undefined
  return error_code === 'OVERLOADED' || error_code === 'CANCELLED'
}
