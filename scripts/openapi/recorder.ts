// Records the examples of the OpenAPI document: plays the story to the real service over HTTP and keeps every request and answer.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { Json, JsonObject } from './components.ts'
import type { RecordedCall } from './examples.ts'
import { version } from '../../src/support/installation.ts'
import { createSteadier, type Steadier } from './steady.ts'
import type { AnswerTo, Step } from './step.ts'
import { firstFiles, story, storyOfAStranger } from './story.ts'

interface Stage {
  readonly url: string
  readonly steadier: Steadier
  readonly answerTo: AnswerTo
}

/** A wait that is cut takes as long as it may: here a moment, in the documents what a server allows that was started without settings. */
const maxTimeout = { seconds: 0.2, shown: 300 }

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
    crud: { base_directories: [root], diff_timeout_ms: 60_000, max_timeout: maxTimeout.seconds }
  })
  const app = await createApp({ config, version })
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    app.serverFacts.port = port
    const answers = new Map<string, JsonObject>()
    const stage = {
      url: `http://127.0.0.1:${port}/`,
      steadier: createSteadier({ root, port, maxTimeout }),
      answerTo: (operation: string, name: string) => answers.get(`${operation} ${name}`) ?? {}
    }
    const calls: RecordedCall[] = []
    for (const step of steps) {
      const { call, answer } = await record(step, stage)
      calls.push(call)
      answers.set(`${step.operation} ${step.name}`, answer)
    }
    return calls
  } finally {
    await app.close()
  }
}

async function record(
  { operation, name, summary, input, query = '', status = 200, code, method = 'POST', headers }: Step,
  { url, steadier, answerTo }: Stage
): Promise<{ call: RecordedCall; answer: JsonObject }> {
  const body = typeof input === 'function' ? input(answerTo) : input
  const response = await fetch(`${url}${operation}${query}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  const text = await response.text()
  if (response.status !== status || (code !== undefined && !text.includes(code)))
    throw new Error(`${operation} (${name}) was to answer ${status} ${code ?? ''}, but did ${response.status}: ${text}`)
  const answer = JSON.parse(text) as JsonObject
  const shown = { input: body && steadier(body as Json), answer: steadier(answer) }
  return { call: { operation, name, summary, status, code, ...shown }, answer }
}
