// What another process has used, as Linux says: processor time and memory. NaN on other systems.
import { existsSync, readFileSync } from 'node:fs'

/** What `sysconf(_SC_CLK_TCK)` is on every Linux that Node runs on. */
const msPerTick = 10

/** Processor time of all threads and of children that have ended, user and system, in ms. */
export function processorMs(pid: number | undefined): number {
  const [user, system, childUser, childSystem] = timesOf(readProcess(pid, 'stat'))
  return ((user ?? NaN) + (system ?? NaN) + (childUser ?? NaN) + (childSystem ?? NaN)) * msPerTick
}

/** Processor time of the main thread, user and system, in ms. */
export function mainThreadMs(pid: number | undefined): number {
  const [user, system] = timesOf(readProcess(pid, `task/${pid}/stat`))
  return ((user ?? NaN) + (system ?? NaN)) * msPerTick
}

/** Pages in memory, those shared with other processes included. */
export function residentMb(pid: number | undefined): number {
  return kilobytes(readProcess(pid, 'status'), 'VmRSS') / 1024
}

/** The same, with each shared page divided among those that share it. */
export function proportionalMb(pid: number | undefined): number {
  return kilobytes(readProcess(pid, 'smaps_rollup'), 'Pss') / 1024
}

/** User and system, in ticks, and the same of children. */
function timesOf(stat: string): number[] {
  // The name of the program may contain anything, also a parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).map(Number)
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(text)?.[1] ?? NaN)
}

function readProcess(pid: number | undefined, file: string): string {
  const path = `/proc/${pid}/${file}`
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
