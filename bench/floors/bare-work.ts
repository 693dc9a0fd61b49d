// The bare file work of the operations, without a protocol, a lock or a check: their floors.
import { closeSync, fsync, lstatSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const fsyncAsync = promisify(fsync)

/** Several at once wait for one another in the thread pool only. */
export const bareRead = (path: string): Promise<Buffer> => readFile(path)

/** Durable: temporary file, fsync, rename, fsync of the directory. */
export async function bareEdit(path: string): Promise<void> {
  const bytes = await readFile(path)
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  await file.write(bytes)
  await file.sync()
  await file.close()
  await rename(temporary, path)
  const directory = await open(dirname(path), 'r')
  await directory.sync()
  await directory.close()
}

/** The same with synchronous calls but for the fsyncs, so that those of several at once overlap: the quickest way that Node has. */
export async function replaceDurably(path: string, bytes: Buffer, temporary: string): Promise<void> {
  const fd = openSync(temporary, 'wx', 0o600)
  writeSync(fd, bytes)
  await fsyncAsync(fd)
  renameSync(temporary, path)
  closeSync(fd)
  const directory = openSync(dirname(path), 'r')
  await fsyncAsync(directory)
  closeSync(directory)
}

/** Names, and what stat says of each. Synchronous calls: the quickest way that Node has. */
export function bareList(folder: string): void {
  for (const name of readdirSync(folder)) lstatSync(join(folder, name))
}

/** The same, and each file is read and its line feeds counted. @returns their number */
export function bareCount(folder: string): number {
  let count = 0
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (!lstatSync(path).isFile()) continue
    const bytes = readFileSync(path)
    for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  }
  return count
}

const lineFeed = 10
