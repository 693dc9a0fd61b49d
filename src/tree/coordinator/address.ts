// The address of a tree's authority: a socket that only this user can reach, a pipe on Windows, and the secret of the process that listens.
import { chmodSync, lstatSync, renameSync, rmSync, type BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { userFolder } from '../state/served-trees.ts'
import type { Directory } from '../../engine/files/directory.ts'
import { orUndefined } from '../../support/attempt.ts'
import { paths } from '../../support/user-paths.ts'
import { newSecret, readSecret, writeSecret } from './secret.ts'
import type { StateDirectory } from '../state/state-directory.ts'
import { lazyCrypto } from '../../support/lazy-crypto.ts'
import { isSameFile } from '../../support/same-file.ts'

/** Where the authority may listen. Usable until the address is closed. */
export interface Place {
  readonly path: string
  /** For messages. */
  readonly shownPath: string
  /** Of the process that listens there. @throws Error that says why there is none */
  readonly readSecret: () => string
}

export interface Address {
  /** The authority of the tree listens at one of them. */
  readonly places: readonly Place[]
  /** Listens at the first place that works, and replaces what a killed process has left there. The secret is left there before. */
  bind(listen: (path: string, secret: string) => Promise<void>): Promise<void>
  /** False if other processes no longer find what was bound here. A secret that was removed is put back. */
  isInPlace(): boolean
  /** Removes what was bound. */
  close(): void
}

interface OwnPlace extends Place {
  readonly secretPath: string
}

interface Bound {
  readonly place: OwnPlace
  readonly secret: string
  /** Undefined for a pipe. */
  readonly stat: BigIntStats | undefined
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
  const places = folder === undefined ? [pipeOf(name)] : socketsOf(folder, directory.path, name)
  let bound: Bound | undefined

  async function bindAt(place: OwnPlace, listen: (path: string, secret: string) => Promise<void>): Promise<void> {
    const { path, secretPath } = place
    const secret = newSecret()
    writeSecret(secretPath, secret)
    try {
      if (isWindows) await listen(path, secret)
      else await listenAside(path, secret, listen)
    } catch (error) {
      rmSync(secretPath, { force: true })
      throw error
    }
    bound = { place, secret, stat: isWindows ? undefined : lstatSync(path, { bigint: true }) }
  }

  function isListening({ place, stat }: Bound): boolean {
    return (
      stat === undefined ||
      isSameFile(
        orUndefined(() => lstatSync(place.path, { bigint: true })),
        stat
      )
    )
  }

  function isInPlace(): boolean {
    if (bound === undefined || !isListening(bound)) return false
    const { place, secret } = bound
    // A pipe cannot be bound anew while relays are connected.
    if (orUndefined(place.readSecret) !== secret) writeSecret(place.secretPath, secret)
    return true
  }

  return {
    places,
    async bind(listen) {
      const failures: unknown[] = []
      for (const place of places) {
        try {
          return await bindAt(place, listen)
        } catch (error) {
          failures.push(error)
        }
      }
      const reason = failures[0] instanceof Error ? failures[0].message : String(failures[0])
      const what = isWindows ? 'no pipe can be made for' : 'no socket can be made in'
      throw new Error(`${what} ${directory.path}: ${reason}`, { cause: failures[0] })
    },
    isInPlace,
    close() {
      if (bound !== undefined) {
        const { place, secret, stat } = bound
        if (stat !== undefined && isListening(bound)) rmSync(place.path, { force: true })
        if (orUndefined(place.readSecret) === secret) rmSync(place.secretPath, { force: true })
      }
      folder?.close()
    }
  }
}

/** Every user of the machine can take its name; the secret lies in the user's own profile. */
function pipeOf(name: string): OwnPlace {
  const path = `\\\\.\\pipe\\async-crud-mcp-${name}`
  return placeAt(path, path, join(paths.dataFolder, 'secrets', `${name}.secret`))
}

function socketsOf(folder: Directory, shownFolder: string, name: string): OwnPlace[] {
  const beside = userFolder()
  const own = placeBeside(folder.at(socketName), join(shownFolder, socketName))
  // None if another user has put something in place of the folder.
  const other = beside === undefined ? [] : [placeBeside(join(beside, `${name}.sock`))]
  return [own, ...other].filter(({ path }) => isShort(path))
}

function placeBeside(path: string, shownPath = path): OwnPlace {
  return placeAt(path, shownPath, path.replace(/sock$/, 'secret'))
}

function placeAt(path: string, shownPath: string, secretPath: string): OwnPlace {
  const shownSecret = isWindows ? secretPath : shownPath.replace(/sock$/, 'secret')
  return { path, shownPath, secretPath, readSecret: () => readSecret(secretPath, shownSecret) }
}

/** Binds a name of its own first: the socket has the right mode before another process finds it, and closing its server removes only that name. */
async function listenAside(
  path: string,
  secret: string,
  listen: (path: string, secret: string) => Promise<void>
): Promise<void> {
  const ownName = nameFor(path)
  await listen(ownName, secret)
  chmodSync(ownName, 0o600)
  rmSync(path, { force: true, recursive: true })
  renameSync(ownName, path)
}

function nameFor(path: string): string {
  return `${path}.${lazyCrypto().randomBytes(3).toString('hex')}`
}

function isShort(path: string): boolean {
  return Buffer.byteLength(nameFor(path)) <= maxPathBytes
}
