// Where the authority of a tree is spoken to: a socket that this user alone can reach.
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, type BigIntStats } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StateDirectory } from '../state/state-directory.ts'

export interface Address {
  /** To be connected to, until `close`: whoever has the tree listens at one of them. */
  readonly paths: readonly string[]
  /** Listens at the first of them where that works, in the place of whatever a killed process has left there. */
  bind(listen: (path: string) => Promise<void>): Promise<void>
  /** False where what was bound is no longer what others find. */
  isInPlace(): boolean
  /** Takes away what was bound. */
  close(): void
}

const socketName = 'authority.sock'
/** Systems cut the path of a socket off, macOS after 103 bytes. */
const maxPathBytes = 103
const isWindows = process.platform === 'win32'

/**
 * In our own folder; some file systems have no sockets, and elsewhere than on Linux its path may be too long: then in a folder of this user
 * below that of temporary files.
 * @param root real path of the first root. @throws Error that says what is in the way
 */
export function openAddress(root: string, directory: StateDirectory): Address {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const folder = isWindows ? undefined : directory.hold()
  const paths =
    folder === undefined
      ? [`\\\\.\\pipe\\async-crud-mcp-${name}`]
      : [folder.at(socketName), ...pathBeside(`${name}.sock`)].filter(isShort)
  let bound: { readonly path: string; readonly stat: BigIntStats } | undefined

  /** Under a name of its own first: it has the right mode before anybody finds it, and the end of its server removes that name alone. */
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
    return there?.ino === bound.stat.ino && there.dev === bound.stat.dev
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
  return `${path}.${randomBytes(3).toString('hex')}`
}

function isShort(path: string): boolean {
  return Buffer.byteLength(nameFor(path)) <= maxPathBytes
}

/** None where somebody else has put something in the place of the folder. */
function pathBeside(name: string): string[] {
  const user = process.getuid?.()
  const folder = join(tmpdir(), `async-crud-mcp-${user}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === user && (stat.mode & 0o077) === 0 ? [join(folder, name)] : []
}
