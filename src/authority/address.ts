// Where the authority of a tree is spoken to: a socket that this user alone can reach.
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StateDirectory } from '../daemon/state-directory.ts'

export interface Address {
  /** To be listened on or connected to, until `close`: the first one where that works. */
  readonly paths: readonly string[]
  /** Removes what a killed process left there. */
  clear(): void
  close(): void
}

const socketName = 'authority.sock'
/** Systems cut the path of a socket off, macOS after 103 bytes. */
const maxPathBytes = 103

/**
 * In our own folder; some file systems have no sockets, and elsewhere than on Linux its path may be too long: then in a folder of this user
 * below that of temporary files.
 * @param root real path of the first root. @throws Error that says what is in the way
 */
export function openAddress(root: string, directory: StateDirectory): Address {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16)
  if (process.platform === 'win32')
    return { paths: [`\\\\.\\pipe\\async-crud-mcp-${name}`], clear: () => {}, close: () => {} }
  const folder = directory.hold()
  const inFolder = folder.at(socketName)
  const paths = [...(Buffer.byteLength(inFolder) <= maxPathBytes ? [inFolder] : []), ...beside(`${name}.sock`)]
  return {
    paths,
    clear: () => paths.forEach((path) => rmSync(path, { force: true, recursive: true })),
    close: () => folder.close()
  }
}

/** None where somebody else has put something in the place of the folder. */
function beside(name: string): string[] {
  const user = process.getuid?.()
  const folder = join(tmpdir(), `async-crud-mcp-${user}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === user && (stat.mode & 0o077) === 0 ? [join(folder, name)] : []
}
