// Wine with a prefix and a server of its own: other Wines of this machine see nothing of it, and it ends with this process.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const stepLimitMs = 180_000
const serverStartMs = 20_000

/**
 * @returns `environment`, with which `wine` runs in this prefix, `run(...words)`, true if the command ends well, `broken`, a
 * signal with the reason if the server of this Wine ends by itself, and `end()`, which ends all that runs in the prefix
 */
export async function startWine() {
  const prefix = mkdtempSync(join(tmpdir(), 'async-crud-mcp-wine-'))
  // No browser and no .NET are installed into the prefix.
  const wine = { WINEPREFIX: prefix, WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree,mshtml=', DISPLAY: '' }
  const environment = { ...process.env, ...wine }
  // Without --persistent it ends between two files, and a program that starts in that moment waits for ever.
  const server = spawn('wineserver', ['--foreground', '--persistent'], { env: environment, stdio: 'ignore' })
  const breaking = new AbortController()
  const broken = breaking.signal
  server.once('error', (error) => breaking.abort(error.message))
  server.once('exit', (code, signal) => breaking.abort(signal ?? `exit code ${code}`))
  const folder = () => orUndefined(() => readlinkSync(`/proc/${server.pid}/cwd`)) ?? ''
  const isServing = () => existsSync(join(folder(), 'socket'))
  for (let waited = 0; !isServing() && !broken.aborted && waited < serverStartMs; waited += 50) await delay(50)
  // Wine makes it for each server, and leaves it.
  const made = isServing() ? folder() : undefined
  const end = () => {
    process.off('exit', end)
    orUndefined(() =>
      execFileSync('wineserver', ['--kill'], { env: environment, stdio: 'ignore', timeout: stepLimitMs })
    )
    endMarked('WINEPREFIX', prefix)
    for (const path of [prefix, made]) if (path) rmSync(path, { recursive: true, force: true, maxRetries: 10 })
    // Debian makes the folder above it, too; elsewhere the servers of other prefixes have theirs in it.
    if (made) orUndefined(() => rmdirSync(dirname(made)))
  }
  process.once('exit', end)
  const run = (...words) => runs(words, { env: environment, signal: broken })
  return { environment, run, broken, end }
}

async function runs([command, ...args], options) {
  const child = spawn(command, args, { ...options, stdio: 'ignore', timeout: stepLimitMs })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}

function orUndefined(get) {
  try {
    return get()
  } catch {
    return undefined
  }
}

/** Kills the processes that were started with this variable in their environment, which programs under Wine inherit, too. */
export function endMarked(name, value) {
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    // Undefined if it has ended, or is another user's.
    const environ = orUndefined(() => readFileSync(`/proc/${pid}/environ`, 'latin1'))
    if (environ?.split('\0').includes(`${name}=${value}`)) orUndefined(() => process.kill(Number(pid), 'SIGKILL'))
  }
}
