// Records the examples of the OpenAPI document: plays the story to the real service over HTTP and keeps every request and answer.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Json } from './components.ts'
import type { RecordedCall } from './examples.ts'
import { version } from '../../src/version.ts'
import { firstFiles, story, storyOfAStranger, type Step } from './story.ts'

interface Stage {
  readonly root: string
  /** Of the running service. */
  readonly port: number
}

/** What differs from one recording to the next is given one value, so that two recordings are equal. */
const steady = {
  root: '/home/ann/project',
  port: 8720,
  time: '2026-11-21T09:00:00.000Z',
  numbers: { port: 8720, uptime_seconds: 42.5, memory_bytes: 92_274_688, p50: 0.12, p99: 1.3 } as Record<string, number>
}

export async function recordExamples(): Promise<RecordedCall[]> {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'async-crud-mcp-examples-'))
  try {
    for (const [name, content] of Object.entries(firstFiles)) writeFileSync(join(root, name), content)
    return [...(await play(story, root, '')), ...(await play(storyOfAStranger, root, 'a secret'))]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function play(steps: readonly Step[], root: string, token: string): Promise<RecordedCall[]> {
  const config = loadConfig({
    daemon: { log_level: 'silent', token },
    // However busy the machine is, the diffs are the minimal ones.
    crud: { base_directories: [root], diff_timeout_ms: 60_000 }
  })
  const app = await createApp({ config, version })
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    app.serverFacts.port = port
    const calls: RecordedCall[] = []
    for (const step of steps) calls.push(await record(step, { root, port }))
    return calls
  } finally {
    await app.close()
  }
}

async function record(step: Step, stage: Stage): Promise<RecordedCall> {
  const { operation, name, summary, input, status = 200, code, method = 'POST', headers } = step
  const response = await fetch(`http://127.0.0.1:${stage.port}/${operation}`, {
    method,
    headers: { ...(input !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(input !== undefined && { body: JSON.stringify(input) })
  })
  const text = await response.text()
  if (response.status !== status || (code !== undefined && !text.includes(code)))
    throw new Error(`${operation} (${name}) was to answer ${status} ${code ?? ''}, but did ${response.status}: ${text}`)
  const answer = steadyValue(JSON.parse(text) as Json, stage)
  return { operation, name, summary, input: input as Json | undefined, status, code, answer }
}

function steadyValue(value: Json, stage: Stage): Json {
  if (typeof value === 'string') return steadyText(value, stage)
  if (Array.isArray(value)) return value.map((item) => steadyValue(item, stage))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      typeof inner === 'number' ? (steady.numbers[key] ?? inner) : steadyValue(inner, stage)
    ])
  )
}

function steadyText(text: string, { root, port }: Stage): string {
  return text
    .replaceAll(root, steady.root)
    .replaceAll(`:${port}`, `:${steady.port}`)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, steady.time)
}
