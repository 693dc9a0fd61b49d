// Identifies the process behind a pid: pids are reused, the start time of a process is not.
import { orUndefined } from './attempt.ts'
import { isErrno } from './errno.ts'
import { readText } from './read-text.ts'

/** Id of the boot and clock tick of the start, which no other process with this pid shares; null if the system does not say (Linux does). */
export function startOf(pid: number): string | null {
  try {
    const boot = readText('/proc/sys/kernel/random/boot_id').trim()
    const ticks = statOf(pid)[22]
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

/** @param start as returned by `startOf`; null checks only the pid, and so does a start that the system itself does not give */
export function isRunning(pid: number, start: string | null): boolean {
  if (!isAlive(pid) || isEnding(pid)) return false
  const now = startOf(pid)
  // Where nothing says what it is, it may have been a zombie that is gone since.
  if (now === null && !isAlive(pid)) return false
  return start === null || now === null || now === start
}

/** Nothing of its program runs any more, though its id is taken until its parent has collected its exit status. */
function isEnding(pid: number): boolean {
  const flags = orUndefined(() => statOf(pid)[9])
  // PF_EXITING, which is set before the files of the process are closed and its locks so let go.
  return (Number(flags) & 0x4) !== 0
}

/** The fields by the numbers that proc(5) gives them, from the third on. @throws where the system has no such file */
export function statOf(pid: number): (string | undefined)[] {
  const stat = readText(`/proc/${pid}/stat`)
  // The name of the program, in parentheses, may contain anything.
  return [undefined, undefined, undefined, ...stat.slice(stat.lastIndexOf(')') + 2).split(' ')]
}
