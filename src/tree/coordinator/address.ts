// The address of a tree's authority: a socket that only this user can reach.
import { chmodSync, lstatSync, renameSync, rmSync, type BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { userFolder } from '../state/served-trees.ts'
import type { StateDirectory } from '../state/state-directory.ts'
import { lazyCrypto } from '../../support/lazy-crypto.ts'
import { isSameFile } from '../../support/same-file.ts'

export interface Address {
  /** Where to connect, until `close`: the authority of the tree listens at one of them. */
  readonly paths: readonly string[]
  /** Listens at the first path that works, and replaces what a killed process has left there. */
  bind(listen: (path: string) => Promise<void>): Promise<void>
  /** False if other processes no longer find what was bound here. */
  isInPlace(): boolean
  /** Removes what was bound. */
  close(): void
}

const socketName = 'authority.sock'
/** Systems truncate the path of a socket, macOS after 103 bytes. */
const maxPathBytes = 103
const isWindows = process.platform === 'win32'

/**
 * In our own folder. Some file systems have no sockets, and except on Linux the path may be too long: then the socket is in a folder of
 * this user below the temporary folder.
 * @param root real path of the first root. @throws Error that says what is in the way
 */
export function openAddress(root: string, directory: StateDirectory): Address {
  const name = lazyCrypto().createHash('sha256').update(root).digest('hex').slice(0, 16)
  const folder = isWindows ? undefined : directory.hold()
  const paths =
    folder === undefined
      ? [`\\\\.\\pipe\\async-crud-mcp-${name}`]
      : [folder.at(socketName), ...pathBeside(`${name}.sock`)].filter(isShort)
  let bound: { readonly path: string; readonly stat: BigIntStats } | undefined

  /** Binds a name of its own first: the socket has the right mode before another process finds it, and closing its server removes only that name. */
  async function bindAt(path: string, listen: (path: string) => Promise<void>): Promise<void> {
    const ownName = nameFor(path)
    await listen(ownName)
    chmodSync(ownName, 0o600)
    rmSync(path, { force: true, recursive: true })
    renameSync(ownName, path)
    bound = { path, stat: lstatSync(path, { bigint: true }) }
  }

  function isInPlace(): boolean {
    if (bound === undefined) return isWindows
    const there = lstatSync(bound.path, { bigint: true, throwIfNoEntry: false })
    return isSameFile(there, bound.stat)
  }

  return {
    paths,
    async bind(listen) {
      const failures: unknown[] = []
      for (const path of paths) {
        try {
          return await (isWindows ? listen(path) : bindAt(path, listen))
        } catch (error) {
          failures.push(error)
        }
      }
      const reason = failures[0] instanceof Error ? failures[0].message : String(failures[0])
      throw new Error(`no socket can be made in ${directory.path}: ${reason}`, { cause: failures[0] })
    },
    isInPlace,
    close() {
      if (bound !== undefined && isInPlace()) rmSync(bound.path, { force: true })
      folder?.close()
    }
  }
}

function nameFor(path: string): string {
  return `${path}.${lazyCrypto().randomBytes(3).toString('hex')}`
}

function isShort(path: string): boolean {
  return Buffer.byteLength(nameFor(path)) <= maxPathBytes
}

/** None if another user has put something in place of the folder. */
function pathBeside(name: string): string[] {
  const folder = userFolder()
  return folder === undefined ? [] : [join(folder, name)]
}
