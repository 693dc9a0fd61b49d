// Wine with a prefix and a server of its own: other Wines of this machine see nothing of it, and it ends with this process.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  // An inode may have belonged to the prefix of a Wine that was not ended: its server answers for this one then.
  run('wineserver', '--kill')
  // Without --persistent it ends between two files, and a program that starts in that moment waits for ever.
  const server = spawn('wineserver', ['--foreground', '--persistent'], { env: environment, stdio: 'ignore' })
  let end
  server.once('error', (error) => (end ??= error.message))
  server.once('exit', (code, signal) => (end ??= signal ?? `exit code ${code}`))
  process.once('exit', () => {
    run('wineserver', '--kill')
    endMarked('WINEPREFIX', prefix)
    rmSync(prefix, { recursive: true, force: true, maxRetries: 10 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  const socket = join('/tmp', `.wine-${process.getuid()}`, serverFolder(prefix), 'socket')
  for (let waited = 0; !existsSync(socket) && end === undefined && waited < serverStartMs; waited += 50) await delay(50)
  return { environment, run, describeEnd: () => end }
}

/** By the device and inode of the prefix. */
function serverFolder(prefix) {
  const { dev, ino } = statSync(prefix)
  return `server-${dev.toString(16)}-${ino.toString(16)}`
}

function runs([command, ...args], env) {
  try {
    execFileSync(command, args, { env, stdio: 'ignore', timeout: stepLimitMs })
    return true
  } catch {
    return false
  }
}

/** Kills the processes that were started with this variable in their environment, which programs under Wine inherit, too. */
export function endMarked(name, value) {
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${name}=${value}`))
        process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended, or is another user's.
    }
  }
}
