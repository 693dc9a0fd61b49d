// A process of its own: many agents over REST, each with a connection, who read, change, list and lock files without a pause.
import { createHash } from 'node:crypto'
import { RawConnection } from '../load/raw-connection.ts'
import { counter } from '../load/subject.ts'
import { percentile, sum } from '../statistics.ts'

export interface AgentsTask {
  readonly url: string
  readonly agents: number
  readonly files: number
  readonly ms: number
  /** What each file has, behind its first line. */
  readonly text: string
}

export const kinds = ['read', 'update', 'status', 'list', 'lock'] as const
export type Kind = (typeof kinds)[number]

export interface Waits {
  readonly calls: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

export interface AgentsReport {
  readonly seconds: number
  readonly waitsMs: Readonly<Record<Kind | 'all', Waits>>
  /** Updates that came too late: an ordinary answer. */
  readonly contentions: number
  /** What else was answered, and how often. */
  readonly errors: Readonly<Record<string, number>>
  /** Of this process, as a part of one core. */
  readonly processorShare: number
}

/** Of a hundred calls: a lock is two, one that takes it and one that gives it back. */
const shares: Readonly<Record<Kind, number>> = { read: 70, update: 20, status: 4, list: 2, lock: 2 }
const allShares = sum(Object.values(shares))
export const filesPerFolder = 100

export const pathOf = (index: number): string => `d${Math.floor(index / filesPerFolder)}/file-${index}.ts`
export const firstLine = (index: number, count: number): string => `// file ${index}, ${counter(count)}\n`

process.on('message', (task: AgentsTask) => void run(task).then((report) => process.send?.(report)))

async function run({ url, agents, files, ms, text }: AgentsTask): Promise<AgentsReport> {
  const latenciesMs = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]])) as Record<Kind, number[]>
  const errors: Record<string, number> = {}
  const known = Array.from({ length: files }, (_, index) => ({ count: 0, hash: hashOf(firstLine(index, 0) + text) }))
  let contentions = 0
  const connections = await Promise.all(Array.from({ length: agents }, () => RawConnection.open(url)))
  const used = process.cpuUsage()
  const begun = performance.now()
  await Promise.all(connections.map(work))
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(used)
  connections.forEach((connection) => connection.close())
  const all = kinds.flatMap((kind) => latenciesMs[kind])
  const waitsMs = Object.fromEntries(
    Object.entries({ ...latenciesMs, all }).map(([kind, samples]) => [kind, summarize(samples)])
  ) as AgentsReport['waitsMs']
  return { seconds, waitsMs, contentions, errors, processorShare: (user + system) / 1e6 / seconds }

  async function work(connection: RawConnection, agent: number): Promise<void> {
    const { host } = new URL(url)
    const head = `HTTP/1.1\r\nhost: ${host}\r\nx-agent-id: agent-${agent}\r\ncontent-type: application/json\r\ncontent-length: `
    /** @returns the body of an answer 200 or 409; undefined for others, which are counted */
    const call = async (kind: Kind, operation: string, input: object): Promise<Buffer | undefined> => {
      const body = JSON.stringify(input)
      const request = Buffer.from(`POST /${operation} ${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)
      const sent = performance.now()
      const answer = await connection.send(request)
      latenciesMs[kind].push(performance.now() - sent)
      if (answer.status === 200) return answer.body
      const code = /"(?:error_code|code|status)":"?([A-Z_a-z]+)/.exec(answer.body.toString())?.[1]
      if (answer.status === 409 && kind === 'update') contentions += 1
      else count(`${operation}: ${answer.status} ${code}`)
      return undefined
    }
    while (performance.now() < begun + ms) {
      const index = Math.floor(Math.random() * files)
      const path = pathOf(index)
      const kind = pick()
      try {
        if (kind === 'read') await call(kind, 'async_read', { path })
        else if (kind === 'status') await call(kind, 'async_status', { path })
        else if (kind === 'list') await call(kind, 'async_list', { path: `d${Math.floor(index / filesPerFolder)}` })
        else if (kind === 'update') await update(index)
        else {
          await call(kind, 'lock_try', { filepaths: [path], mode: 'shared' })
          await call(kind, 'lock_release', { filepaths: [path] })
        }
      } catch (error) {
        count((error as Error).message)
        return
      }
    }

    async function update(index: number): Promise<void> {
      const file = known[index]
      if (file === undefined) return
      const patches = [{ old_string: counter(file.count), new_string: counter(file.count + 1) }]
      const answer = await call('update', 'async_update', { path: pathOf(index), expected_hash: file.hash, patches })
      const hash = /"hash":"(sha256:[0-9a-f]{16,64})/.exec(answer?.toString('latin1') ?? '')?.[1]
      if (hash !== undefined) known[index] = { hash, count: file.count + 1 }
    }
  }

  function count(error: string): void {
    errors[error] = (errors[error] ?? 0) + 1
  }
}

function pick(): Kind {
  let left = Math.random() * allShares
  for (const kind of kinds) {
    left -= shares[kind]
    if (left < 0) return kind
  }
  return 'read'
}

function summarize(samples: readonly number[]): Waits {
  const [p50 = NaN, p99 = NaN, most = NaN] = [50, 99, 100].map((rank) => percentile(samples, rank))
  return { calls: samples.length, p50, p99, most }
}

function hashOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}
