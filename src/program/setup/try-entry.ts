// Starts the entry of a client once, as the client will, and asks whether it is this server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { readLines } from '../../support/read-lines.ts'
import { serverName, type Client, type StdioLaunch } from './clients.ts'
import { parseFields, toFields } from '../../support/json-fields.ts'

const maxAnswerBytes = 4_194_304
const endTimeoutMs = 5000

/** It reads this, and the end of its input ends it. */
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'async-crud-mcp setup', version: '1' }
  }
}

/** The entry with the folder of the project in place of the client's word for it. */
export function asStarted(launch: StdioLaunch, { projectWord }: Client, project: string | undefined): StdioLaunch {
  if (project === undefined || projectWord === undefined) return launch
  return { ...launch, args: launch.args.map((arg) => arg.replace(projectWord, () => resolve(project))) }
}

/** @param folder in which clients start it @returns why it does not answer; undefined if it does */
export async function tryEntry(
  { command, args }: StdioLaunch,
  folder: string = homedir(),
  timeoutMs = 20_000
): Promise<string | undefined> {
  const child = spawn(command, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
  const ended = once(child, 'close').then(
    () => undefined,
    (error: Error) => error.message
  )
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-10_000)))
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify(initialize)}\n`)
  const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    if (await isAnswered(child.stdout).catch(() => false)) return undefined
    const failure = await ended
    return failure ?? lastLine(said) ?? `no answer within ${timeoutMs / 1000} s`
  } finally {
    clearTimeout(late)
    child.stdin.end()
    // Its end is awaited, so that it leaves nothing behind.
    const killing = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
    await ended
    clearTimeout(killing)
  }
}

async function isAnswered(output: Readable): Promise<boolean> {
  for await (const line of readLines(output, maxAnswerBytes)) {
    const name = nameOf(line?.toString('utf8') ?? '')
    if (name !== undefined) return name === serverName
  }
  return false
}

/** Of the server that sends this answer. */
function nameOf(line: string): unknown {
  const { id, result } = parseFields(line) ?? {}
  return id === 1 ? (toFields(toFields(result)['serverInfo'])['name'] ?? '') : undefined
}

function lastLine(text: string): string | undefined {
  return text.trimEnd().split('\n').at(-1) || undefined
}
