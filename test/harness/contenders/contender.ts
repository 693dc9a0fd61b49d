// One agent: its calls, each written down, and what it believes to hold.
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '../../fixtures/clients.ts'
import type { Random } from '../../fixtures/random.ts'
import type { ContenderClient } from './client.ts'
import { markerOf, type Ask, type FileOutcome, type Reply } from './history.ts'
import type { Journal } from './journal.ts'
import type { ContenderTask } from './protocol.ts'

interface Version {
  readonly hash: string
  readonly lastLine: string
  readonly sentAt: number
}

export interface LockOptions {
  readonly mode?: 'shared' | 'exclusive'
  readonly allOrNothing?: boolean
  readonly timeoutSeconds?: number
}

/** Thrown out of a plan whose agent is to finish. */
export class Finished extends Error {}

/** Of the tickets; with the others nobody comes back. */
const ticketShare = 0.9

export class Contender {
  readonly files: readonly string[]
  readonly ttlMs: number
  readonly random: Random
  /** Tokens of the leases it believes to hold, by file. */
  readonly held = new Map<string, number>()
  readonly #task: ContenderTask
  readonly #client: ContenderClient
  readonly #journal: Journal
  readonly #versions = new Map<string, Version>()
  #isFinishing = false

  constructor(task: ContenderTask, client: ContenderClient, journal: Journal, random: Random) {
    this.files = task.files
    this.ttlMs = task.ttlSeconds * 1000
    this.random = random
    this.#task = task
    this.#client = client
    this.#journal = journal
  }

  /** The call under way is the last one of its plan. */
  finish(): void {
    this.#isFinishing = true
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  pause(least: number, most: number): Promise<void> {
    return delay(least + (most - least) * this.random())
  }

  /** Different ones. */
  pick(count: number): string[] {
    const rest = [...this.files]
    return Array.from({ length: count }, () => rest.splice(Math.floor(this.random() * rest.length), 1)[0] as string)
  }

  /** A file and its successor, of three that stand in a ring. */
  pickInRing(): string[] {
    const ring = 3 * Math.floor(this.random() * Math.floor(this.files.length / 3))
    const at = Math.floor(this.random() * 3)
    return [at, (at + 1) % 3].map((place) => this.files[ring + place] as string)
  }

  async lockTry(files: readonly string[], { mode = 'exclusive', allOrNothing = false }: LockOptions = {}) {
    const input = { filepaths: files, mode, all_or_nothing: allOrNothing, ttl_seconds: this.#task.ttlSeconds }
    return this.#take(await this.#call({ operation: 'lock_try', files, mode, allOrNothing }, input))
  }

  /** Goes on with the ticket of a wait that was cut, or leaves the place to its fate. */
  async lockWait(files: readonly string[], options: LockOptions = {}): Promise<Reply> {
    const { mode = 'exclusive', allOrNothing = false, timeoutSeconds = 4 } = options
    const reservation = { mode, all_or_nothing: allOrNothing, ttl_seconds: this.#task.ttlSeconds }
    const ask = { operation: 'lock_wait', files, mode, allOrNothing }
    const first = { filepaths: files, timeout_seconds: timeoutSeconds, ...reservation }
    let reply = this.#take(await this.#call(ask, first))
    for (let tries = 0; tries < 5 && reply.ticket !== undefined && this.chance(ticketShare); tries += 1) {
      const { ticket } = reply
      if (this.chance(0.1)) await this.pause(0, 1500)
      const again = { ticket, timeout_seconds: timeoutSeconds, ...reservation }
      reply = this.#take(await this.#call({ ...ask, ticket }, again))
    }
    return reply
  }

  async renew(files: readonly string[]): Promise<void> {
    this.#take(await this.#call({ operation: 'lock_renew', files }, { filepaths: files }))
  }

  async release(files: readonly string[]): Promise<void> {
    for (const file of files) this.held.delete(file)
    await this.#call({ operation: 'lock_release', files }, { filepaths: files })
  }

  /** Also when it is to finish. */
  async leave(): Promise<void> {
    this.#isFinishing = false
    await this.releaseAll()
  }

  async releaseAll(): Promise<void> {
    this.held.clear()
    await this.#call({ operation: 'lock_release_all', files: this.files }, {})
  }

  async read(file: string): Promise<void> {
    let answer: Answer = {}
    const keep = (given: Answer) => (answer = given)
    const { reply, sentAt } = await this.#send({ operation: 'async_read', files: [file] }, () => ({ path: file }), keep)
    if (reply.status !== 'ok') return
    const [lastLine = ''] = /[^\n]*\n$/.exec(answer['content'] as string) ?? []
    this.#versions.set(file, { hash: answer['hash'] as string, lastLine, sentAt })
  }

  /** Adds a line at the end. @param token of the lease it relies on; without one it waits its turn like anybody */
  async append(file: string, token = this.held.get(file)): Promise<Reply> {
    return this.#write({ operation: 'async_append', files: [file], token }, (marker) => ({
      path: file,
      content: `${marker}\n`
    }))
  }

  /** Adds a line behind the last one that it knows of, and reads again where that is not the last any more. */
  async update(file: string, token = this.held.get(file)): Promise<Reply> {
    const version = this.#versions.get(file)
    if (version === undefined) {
      await this.read(file)
      return this.#versions.has(file) ? this.update(file, token) : { status: 'ok' }
    }
    const { hash, lastLine, sentAt } = version
    const ask = { operation: 'async_update', files: [file], token, basedOnSentAt: sentAt }
    const reply = await this.#write(ask, (marker) => ({
      path: file,
      expected_hash: hash,
      patches: [{ old_string: lastLine, new_string: `${lastLine}${marker}\n` }]
    }))
    if (reply.status === 'contention') this.#versions.delete(file)
    return reply
  }

  async #write(ask: Ask & { token: number | undefined }, toInput: (marker: string) => object): Promise<Reply> {
    const [file] = ask.files as [string]
    const mark = (n: number) => ({ ...ask, marker: markerOf(this.#task.id, n, ask.token) })
    const input = ({ marker }: { marker: string }) => ({
      ...toInput(marker),
      timeout: 1.5,
      ...(ask.token !== undefined && { fencing_token: ask.token })
    })
    let hash: string | undefined
    const { reply, sentAt, sent } = await this.#send(mark, input, (answer) => (hash = answer['hash'] as string))
    if (reply.status === 'ok' && hash !== undefined)
      this.#versions.set(file, { hash, lastLine: `${sent.marker}\n`, sentAt })
    if (reply.code !== 'LEASE_LOST') return reply
    if (ask.token === this.held.get(file)) this.held.delete(file)
    // Every change of the file is refused until it has been read.
    if (this.chance(0.7)) await this.read(file)
    return reply
  }

  #take(reply: Reply): Reply {
    for (const { file, acquired, token } of reply.outcomes ?? []) {
      if (acquired && token !== undefined) this.held.set(file, token)
      else if (!acquired) this.held.delete(file)
    }
    return reply
  }

  async #call(ask: Ask, input: object): Promise<Reply> {
    return (
      await this.#send(
        ask,
        () => input,
        () => {}
      )
    ).reply
  }

  async #send<Sent extends Ask>(
    ask: Sent | ((n: number) => Sent),
    toInput: (ask: Sent) => object,
    look: (answer: Answer) => void
  ): Promise<{ reply: Reply; sentAt: number; sent: Sent }> {
    const { id, identity } = this.#task
    if (this.#isFinishing) throw new Finished()
    const record = this.#journal.sent((n) => (typeof ask === 'function' ? ask(n) : ask))
    const { ask: sent, sentAt } = record
    const input = { ...toInput(sent), ...(identity === 'input' && { agent_id: id }) }
    let reply: Reply
    try {
      const answer = await this.#client.call(sent.operation, input)
      look(answer)
      reply = toReply(answer)
    } catch (error) {
      const { message, cause } = error as Error
      reply = { status: 'failed', message: `${message} ${cause instanceof Error ? cause.message : ''}` }
    }
    record.answered(reply)
    return { reply, sentAt, sent }
  }
}

function toReply(answer: Answer): Reply {
  const { status, error_code, message, details, ticket, notices } = answer
  const results = (answer['results'] ?? []) as Answer[]
  const outcomes = results.filter((result) => 'acquired' in result || 'renewed' in result).map(toOutcome)
  const waits = details?.waits as { agent_id: string; waits_for: string }[] | undefined
  return {
    status,
    ...(status === 'error' && { code: error_code, message }),
    ...(outcomes.length > 0 && { outcomes }),
    ...(ticket !== undefined && { ticket }),
    ...(waits !== undefined && {
      cycle: waits.map(({ agent_id, waits_for }) => ({ agent: agent_id, file: basename(waits_for) }))
    }),
    ...(details?.cause !== undefined && { cause: details.cause }),
    ...(notices !== undefined && { notices: notices.length })
  }
}

function toOutcome({ filepath, acquired, renewed, fencing_token, mode }: Answer): FileOutcome {
  return { file: filepath, acquired: acquired ?? renewed, token: fencing_token, mode }
}
