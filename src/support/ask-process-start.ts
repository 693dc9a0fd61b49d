// When a process started, on systems without /proc: asked of a program of the system, which takes a moment.
import { execFileSync } from 'node:child_process'
import { orUndefined } from './attempt.ts'
import { startOf } from './process-identity.ts'

const timeoutMs = 10_000

/** What no other process with this pid shares; null if the system does not say. */
export function askProcessStart(pid: number): string | null {
  const known = startOf(pid)
  if (known !== null) return known
  const [kind, command, ...args] = process.platform === 'win32' ? ofWindows(pid) : ofUnix(pid)
  const answer = orUndefined(() =>
    execFileSync(command, args, {
      encoding: 'utf8',
      timeout: timeoutMs,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      // The words are the same for every caller.
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC0' }
    }).trim()
  )
  return answer === undefined || answer === '' ? null : `${kind}/${answer}`
}

function ofUnix(pid: number) {
  return ['ps', 'ps', '-o', 'lstart=', '-p', String(pid)] as const
}

function ofWindows(pid: number) {
  const query = `(Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}').CreationDate.ToUniversalTime().Ticks`
  return ['cim', 'powershell.exe', '-NoProfile', '-NonInteractive', '-Command', query] as const
}
