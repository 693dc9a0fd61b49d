// Identifies the process behind a pid: pids are reused, the start time of a process is not.
import { readFileSync } from 'node:fs'
import { isErrno } from './errno.ts'

/** Id of the boot and clock tick of the start, which no other process with this pid shares; null if the system does not say (Linux does). */
export function startOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may contain anything. The start is field 22, and field 3 comes after it.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return ticks === undefined ? null : `${boot}/${ticks}`
  } catch {
    return null
  }
}

/** Whether a process has this id now; it may be another one than before. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}

/** @param start as returned by `startOf`; null checks only the pid */
export function isRunning(pid: number, start: string | null): boolean {
  if (!isAlive(pid) || isZombie(pid)) return false
  const now = startOf(pid)
  // Where nothing says what it is, it may have been a zombie that is gone since.
  if (now === null && !isAlive(pid)) return false
  return start === null || now === null || now === start
}

/** It has ended, and is listed only because its parent has not collected its exit status. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')
  } catch {
    return false
  }
}
