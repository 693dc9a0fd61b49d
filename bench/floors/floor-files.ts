// A process of its own that does the bare file work, without a server around it: the floor (a) of the hot path.
import { hash } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { replaceDurably } from './bare-work.ts'
import { runLoad, type Send } from '../load/load.ts'

export interface FilesTask {
  readonly operation: 'read' | 'update'
  /** One for each worker. */
  readonly paths: readonly string[]
  readonly ms: number
}

process.on('message', ({ operation, paths, ms }: FilesTask) => {
  const work = operation === 'read' ? readOnce : paths.length === 1 ? updateSync : updateOnce
  const senders: Send[] = paths.map((path) => async () => work(path))
  void runLoad(senders, ms).then(({ perSecond }) => process.send?.(perSecond))
})

/** Synchronous calls: the quickest way that Node has, however many are wanted at once. */
function readOnce(path: string): Buffer {
  const fd = openSync(path, 'r')
  const bytes = Buffer.allocUnsafe(fstatSync(fd).size)
  readSync(fd, bytes)
  closeSync(fd)
  hash('sha256', bytes, 'hex')
  return bytes
}

/** Several at once: their fsyncs overlap. */
function updateOnce(path: string): Promise<void> {
  return replaceDurably(path, readOnce(path), `${path}.tmp`)
}

/** One after the other: nothing overlaps, and the trips to the thread pool are saved. */
function updateSync(path: string): void {
  const bytes = readOnce(path)
  const temporary = `${path}.tmp`
  const fd = openSync(temporary, 'wx', 0o600)
  writeSync(fd, bytes)
  fsyncSync(fd)
  renameSync(temporary, path)
  closeSync(fd)
  const directory = openSync(dirname(path), 'r')
  fsyncSync(directory)
  closeSync(directory)
}
