// Ends this process when npm, which started it, has ended: npm passes a signal to its shell only, and the shell dies of it.
import { orUndefined } from '../../support/attempt.ts'
import { isRunning, startOf, statOf } from '../../support/process-identity.ts'
import { readText } from '../../support/read-text.ts'

export interface ProcessFacts {
  readonly parent: number
  /** Of its command line. */
  readonly words: readonly string[]
}

const lookMs = 250
const psTimeoutMs = 10_000

/**
 * Hangs up on this process once npm, or the shell between them, has gone, as if its terminal had been closed. Does nothing
 * unless the parent is npm or a shell of npm: a server in the background, or one that a client starts which was itself
 * started by npx, has the same environment. Nor does it on Windows, where a closed window or Ctrl-C reaches all of them,
 * and the end of npm alone reaches none.
 * @param events the scripts of npm that are meant: `npx`, or names of `scripts` in package.json
 */
export function endWithNpm(...events: readonly string[]): void {
  if (!events.includes(process.env['npm_lifecycle_event'] ?? '') || process.platform === 'win32') return
  const parent = process.ppid
  const npm = findNpm(parent)
  if (npm === undefined) return
  const start = startOf(npm)
  const timer = setInterval(() => {
    if (process.ppid === parent && isRunning(npm, start)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGHUP')
  }, lookMs).unref()
}

/** A shell that replaces itself by its last command leaves npm as the parent. */
function findNpm(pid: number): number | undefined {
  const first = factsOf(pid)
  if (isNpm(first)) return pid
  return first?.words[1] === '-c' && isNpm(factsOf(first.parent)) ? first.parent : undefined
}

/** npm gives itself this name, whatever it was called by. */
function isNpm(facts: ProcessFacts | undefined): boolean {
  return facts?.words[0] === 'npm'
}

/** Undefined if the process has gone, or the system does not say. */
function factsOf(pid: number): ProcessFacts | undefined {
  return orUndefined(() => (process.platform === 'linux' ? readFacts(pid) : askFacts(pid)))
}

export function readFacts(pid: number): ProcessFacts {
  const words = readText(`/proc/${pid}/cmdline`).match(/[^\0\s]+/g)
  return { parent: Number(statOf(pid)[4]), words: words ?? [] }
}

/** On systems without /proc. */
export function askFacts(pid: number): ProcessFacts {
  // Loaded here: hooks start around every tool call, need none of it, and would wait for it.
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  const line = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8', timeout: psTimeoutMs })
  const [parent, ...words] = line.trim().split(/\s+/)
  return { parent: Number(parent), words }
}
