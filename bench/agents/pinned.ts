// The server and the load on cores of their own, where taskset is there.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Owner } from '../owner.ts'

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** Moves a process with all its threads to every core but the first. */
export function freeFirstCore(pid: number | undefined): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', `1-${availableParallelism() - 1}`, String(pid)])
}

/** Starts a program of the benchmark on the first core. */
export function forkOnFirstCore(owner: Owner, program: URL): ChildProcess {
  const node = [process.execPath, fileURLToPath(program)]
  const [command = '', ...args] = canPin ? ['taskset', '-c', '0', ...node] : node
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  owner.teardown(() => child.kill())
  return child
}
