// Ends the processes that a command has left in its namespace: what they would still write, nobody would see.
import { readdirSync, readlinkSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { attempt, orUndefined } from '../../support/attempt.ts'

const graceMs = 2000
const lookMs = 20

/** @param holder the process that holds the namespace */
export async function endOthers(holder: number): Promise<void> {
  const others = () => processesIn(holder)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const until = performance.now() + graceMs
    for (const pid of others()) attempt(() => process.kill(pid, signal))
    while (others().length > 0 && performance.now() < until) await setTimeout(lookMs)
  }
}

function processesIn(holder: number): number[] {
  const mounts = (pid: number) => orUndefined(() => readlinkSync(`/proc/${pid}/ns/mnt`))
  const own = mounts(holder)
  // Never those of the whole system.
  if (own === undefined || own === mounts(process.pid)) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== holder && mounts(pid) === own)
}
