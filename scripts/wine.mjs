// Wine with a prefix and a server of its own: other Wines of this machine see nothing of it, and it ends with this process.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const stepLimitMs = 180_000
const serverStartMs = 20_000

/**
 * @returns `environment`, with which `wine` runs in this prefix, `run(...words)`, true if the command ended well, and
 * `describeEnd()`: undefined while the server of this Wine runs
 */
export async function startWine() {
  const prefix = mkdtempSync(join(tmpdir(), 'async-crud-mcp-wine-'))
  // No browser and no .NET are installed into the prefix.
  const wine = { WINEPREFIX: prefix, WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree,mshtml=', DISPLAY: '' }
  const environment = { ...process.env, ...wine }
  const run = (...words) => runs(words, environment)
  // Without --persistent it ends between two files, and a program that starts in that moment waits for ever.
  const server = spawn('wineserver', ['--foreground', '--persistent'], { env: environment, stdio: 'ignore' })
  let end
  server.once('error', (error) => (end ??= error.message))
  server.once('exit', (code, signal) => (end ??= signal ?? `exit code ${code}`))
  const ended = () => end !== undefined
  const folder = () => orUndefined(() => readlinkSync(`/proc/${server.pid}/cwd`)) ?? ''
  const isServing = () => existsSync(join(folder(), 'socket'))
  for (let waited = 0; !isServing() && !ended() && waited < serverStartMs; waited += 50) await delay(50)
  // Wine makes it anew for each server, and leaves it.
  const made = isServing() ? dirname(folder()) : undefined
  process.once('exit', () => {
    run('wineserver', '--kill')
    endMarked('WINEPREFIX', prefix)
    for (const path of [prefix, made]) if (path) rmSync(path, { recursive: true, force: true, maxRetries: 10 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  return { environment, run, describeEnd: () => end }
}

function runs([command, ...args], env) {
  return orUndefined(() => execFileSync(command, args, { env, stdio: 'ignore', timeout: stepLimitMs })) !== undefined
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
