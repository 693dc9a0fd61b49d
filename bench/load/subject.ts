// The server under load: connections that read, or that update each its own file.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransportName } from '../../test/fixtures/clients.ts'
import type { Send } from './load.ts'
import type { Owner } from '../owner.ts'
import { RawConnection } from './raw-connection.ts'
import { prepareFraming, type Captures } from './requests.ts'

export interface SubjectOptions {
  readonly url: string
  readonly routeUrl: string
  readonly transport: TransportName
  readonly operation: 'read' | 'update'
  /** Of an update: send a patch, or the whole new content. */
  readonly form?: 'patch' | 'content'
  /** One for each connection. */
  readonly paths: readonly string[]
  readonly captures: Captures
}

export interface Subject {
  readonly ours: readonly Send[]
  /** The same requests to the empty route, answered with as many bytes as the server's. */
  readonly route: readonly Send[]
}

/** A line that every update changes; of fixed length, so that the file keeps its size. */
export const counterPattern = /count [0-9]{10}/

/** In a REST body, in structured content, or escaped in a text. */
const okPattern = /"status\\?":\\?"ok/
/** A machine that stalls may leave no thread free for large edits in time: then a client is to try again after a second. */
const overloadedPattern = /"error_code\\?":\\?"OVERLOADED/
const retryMs = 1000
const hashPattern = /"hash\\?":\\?"(sha256:[0-9a-f]{16,64})/

export async function createSubject(owner: Owner, options: SubjectOptions): Promise<Subject> {
  const pairs = await Promise.all(options.paths.map((path) => createPair(owner, options, path)))
  return { ours: pairs.map(({ ours }) => ours), route: pairs.map(({ route }) => route) }
}

async function createPair(owner: Owner, options: SubjectOptions, path: string): Promise<{ ours: Send; route: Send }> {
  const { url, routeUrl, transport, operation, captures } = options
  const tool = operation === 'read' ? 'async_read' : 'async_update'
  const connection = await RawConnection.open(url, owner)
  const floor = await RawConnection.open(routeUrl, owner)
  const { path: urlPath, frame, bodyOf } = await prepareFraming(transport, tool, captures, connection, url)
  const calls = operation === 'read' ? readsOf(path) : updatesOf(path, options.form ?? 'patch')
  const exchange = async (request: Buffer): Promise<Buffer> => {
    const { status, body } = await connection.send(frame(`${url}${urlPath}`, request))
    if (overloadedPattern.test(body.toString('latin1', 0, 1000))) {
      await delay(retryMs)
      return exchange(request)
    }
    if (status !== 200 || !okPattern.test(body.toString('latin1', 0, 1000)))
      throw new Error(`${tool}: ${status} ${body.toString('utf8', 0, 1000)}`)
    calls.take(body)
    return body
  }
  const request = bodyOf(calls.next())
  const answer = await exchange(request)
  const floorRequest = frame(`${routeUrl}/${answer.length}`, request)
  return { ours: () => exchange(bodyOf(calls.next())), route: () => floor.send(floorRequest) }
}

/** The inputs of one connection's calls; each answer may decide the next one. */
interface Calls {
  next(): Record<string, unknown>
  take(answer: Buffer): void
}

function readsOf(path: string): Calls {
  return { next: () => ({ path }), take: () => {} }
}

/** Each update is made for the version that the answer before it named. */
function updatesOf(path: string, form: 'patch' | 'content'): Calls {
  const text = readFileSync(path, 'utf8')
  let hash = `sha256:${createHash('sha256').update(text).digest('hex')}`
  let count = Number(counterPattern.exec(text)?.[0].slice('count '.length))
  const [before, after] = text.split(counterPattern)
  return {
    next() {
      const old_string = counter(count)
      count += 1
      const change =
        form === 'patch'
          ? { patches: [{ old_string, new_string: counter(count) }] }
          : { content: `${before}${counter(count)}${after}` }
      return { path, expected_hash: hash, ...change }
    },
    take(answer) {
      hash = hashPattern.exec(answer.toString('latin1'))?.[1] ?? ''
    }
  }
}

export function counter(count: number): string {
  return `count ${String(count).padStart(10, '0')}`
}
