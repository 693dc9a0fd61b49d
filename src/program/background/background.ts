// Starts a server that outlives this process, waits until clients can reach it, and stops it again.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync } from 'node:fs'
import { homedir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { isErrno } from '../../support/errno.ts'
import type { BackgroundRecord, BackgroundRecords } from './background-records.ts'
import { askHealth, isServing } from './probe-server.ts'
import { askProcessStart } from '../../support/ask-process-start.ts'
import { isRunning } from '../../support/process-identity.ts'
import { createStateFile } from '../../tree/state/state-file.ts'
import { timestamp } from '../../support/timestamp.ts'
import { parseFields } from '../../support/json-fields.ts'

export interface BackgroundStart {
  /** Node, main.js and what comes before the flags. */
  readonly command: readonly [string, ...string[]]
  /** Of `serve`, absolute and without secrets. */
  readonly args: readonly string[]
  readonly root: string
  readonly roots: readonly string[]
  /** From the command line: the process gets it through its environment, which other users cannot read. */
  readonly token: string | undefined
  /** The effective one, from any source. */
  readonly healthToken: string
  readonly logFile: string | undefined
}

const readyTimeoutMs = 30_000
const pollMs = 50
/** Longer than a stop of the server takes, including the time for running operations. */
const stopTimeoutMs = 10_000
const killTimeoutMs = 2000
const lastLines = 10
const maxTailBytes = 65_536

/**
 * @returns the record, and the MCP address
 * @throws Error with the last lines of its log if it ends, or cannot be reached in time; nothing of it is left then
 */
export async function startInBackground(
  start: BackgroundStart,
  records: BackgroundRecords
): Promise<{ record: BackgroundRecord; url: string }> {
  mkdirSync(records.folder, { recursive: true, mode: 0o700 })
  const outputFile = records.outputFileOf(start.root)
  const child = launch(start, outputFile)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `exit code ${code}`}`))
  })
  const record: BackgroundRecord = {
    version: 1,
    root: start.root,
    roots: start.roots,
    pid: child.pid ?? 0,
    process_start: child.pid === undefined ? null : askProcessStart(child.pid),
    started_at: timestamp(),
    args: start.args,
    ...(start.token !== undefined && { token: start.token }),
    ...(start.logFile !== undefined && { log_file: start.logFile }),
    output_file: outputFile
  }
  if (child.pid !== undefined) records.write(record)
  const outcome = await Promise.race([ended, reach(record, start.healthToken)])
  if (typeof outcome === 'object') {
    child.unref()
    return { record, url: outcome.url }
  }
  const lines = lastLinesOf(record)
  // Its own child, whatever the system says of it.
  await stopBackground(record).catch(() => child.kill('SIGKILL'))
  records.remove(start.root)
  throw new Error(['the server did not start: ' + outcome, ...lines.map((line) => `  ${line}`)].join('\n'))
}

function launch({ command: [program, ...first], args, token }: BackgroundStart, outputFile: string): ChildProcess {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND
  const output = openSync(outputFile, flags, 0o600)
  try {
    return spawn(program, [...first, ...args], {
      detached: true,
      windowsHide: true,
      // Its roots are absolute; it must not keep the folder of this call busy.
      cwd: homedir(),
      env: { ...process.env, ...(token !== undefined && { ASYNC_CRUD_MCP_DAEMON__TOKEN: token }) },
      stdio: ['ignore', output, output]
    })
  } finally {
    closeSync(output)
  }
}

/** The address once the server answers there; the reason if it does not in time. */
async function reach(record: BackgroundRecord, token: string): Promise<{ url: string } | string> {
  const until = performance.now() + readyTimeoutMs
  while (performance.now() < until) {
    const url = urlOf(record)
    if (url !== undefined) {
      if (isServing(await askHealth(url, token))) return { url }
    }
    await delay(pollMs)
  }
  return `it could not be reached within ${readyTimeoutMs / 1000} s`
}

/**
 * Where this process itself listens: from the state file of its tree. If another process is the authority there and
 * names itself, from the output of this process.
 */
export function urlOf(record: BackgroundRecord): string | undefined {
  const state = createStateFile(record.root).read()
  if (state?.pid === record.pid && state.url !== null) return state.url
  for (const line of linesOf(record).reverse()) {
    const { pid, msg } = parseFields(line) ?? {}
    const url = pid === record.pid ? /^listening on (\S+), MCP at ([^\s,]+)/.exec(String(msg))?.[2] : undefined
    if (url !== undefined) return url
  }
  return undefined
}

export function isBackgroundRunning(record: BackgroundRecord): boolean {
  return identify(record) !== 'another'
}

/** Whether the process with this id is the one that the record means. */
function identify({ pid, process_start }: BackgroundRecord): 'same' | 'another' | 'unknown' {
  if (!isRunning(pid, process_start)) return 'another'
  const now = process_start === null ? null : askProcessStart(pid)
  return now === null ? 'unknown' : now === process_start ? 'same' : 'another'
}

/**
 * Only signals the process that the record means.
 * @param timeoutMs before the process is killed, 10 s by default
 * @returns how it went; "killed" if the process did not end by itself in time
 * @throws Error if nothing says whether the process with this id is that one
 */
export async function stopBackground(
  record: BackgroundRecord,
  timeoutMs = stopTimeoutMs
): Promise<'not running' | 'stopped' | 'killed'> {
  const found = identify(record)
  if (found === 'another') return 'not running'
  if (found === 'unknown') throw unknownProcess(record)
  signal(record, 'SIGTERM')
  if (await isGone(record, timeoutMs)) return 'stopped'
  signal(record, 'SIGKILL')
  if (await isGone(record, killTimeoutMs)) return 'killed'
  throw new Error(`process ${record.pid} does not end, not even by SIGKILL`)
}

function unknownProcess({ pid, started_at }: BackgroundRecord): Error {
  return new Error(
    `process ${pid} was left alone: nothing says whether it still is the server that was started at ${started_at}, or another program that has its number by now. Look at it, end it yourself if it is the server, and call this again`
  )
}

function signal(record: BackgroundRecord, name: NodeJS.Signals): void {
  try {
    // No await since the look at its start: the system does not reuse a process id so soon.
    if (identify(record) === 'same') process.kill(record.pid, name)
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error
  }
}

async function isGone(record: BackgroundRecord, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs
  while (isRunning(record.pid, record.process_start)) {
    if (performance.now() > until) return false
    await delay(pollMs)
  }
  return true
}

/** The last lines of its own output, else of its log. */
function lastLinesOf(record: BackgroundRecord): string[] {
  return linesOf(record)
    .filter((line) => {
      // Other servers of this user write to the same log.
      const { pid } = parseFields(line) ?? {}
      return pid === undefined || pid === record.pid
    })
    .slice(-lastLines)
    .map((line) => {
      const { level, msg } = parseFields(line) ?? {}
      return level === undefined ? line : String(msg)
    })
}

function linesOf({ log_file, output_file }: BackgroundRecord): string[] {
  return [log_file, output_file].flatMap((path) => (path === undefined ? [] : readTail(path)))
}

/** The lines of the last part only: a log can be long. */
function readTail(path: string): string[] {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
  try {
    const { size } = fstatSync(fd)
    const bytes = Buffer.alloc(Math.min(size, maxTailBytes))
    const length = readSync(fd, bytes, { position: size - bytes.length })
    const lines = bytes.toString('utf8', 0, length).split('\n')
    return (size > maxTailBytes ? lines.slice(1) : lines).filter((line) => line !== '')
  } finally {
    closeSync(fd)
  }
}
