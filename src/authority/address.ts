// Where the authority of a tree is spoken to: a socket in its own folder, which this user alone can enter.
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StateDirectory } from '../daemon/state-directory.ts'

export interface Address {
  /** To be listened on or connected to, until `close`. */
  readonly path: string
  /** Removes what a killed process left there. */
  clear(): void
  close(): void
}

const socketName = 'authority.sock'
/** Systems cut the path of a socket off, macOS after 103 bytes. */
const maxPathBytes = 103

/** @param root real path of the first root. @throws Error that says what is in the way */
export function openAddress(root: string, directory: StateDirectory): Address {
  const name = `async-crud-mcp-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`
  if (process.platform === 'win32') return { path: `\\\\.\\pipe\\${name}`, clear: () => {}, close: () => {} }
  const folder = directory.hold()
  const inFolder = folder.at(socketName)
  const path = Buffer.byteLength(inFolder) <= maxPathBytes ? inFolder : join(tmpdir(), `${name}.sock`)
  return { path, clear: () => rmSync(path, { force: true }), close: () => folder.close() }
}
