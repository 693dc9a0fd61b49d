// Whether this process may read or write a file.
import { accessSync, constants, type BigIntStats } from 'node:fs'
import { attempt } from '../../support/attempt.ts'
import type { Directory } from './directory.ts'

const ways = {
  read: { owner: 0o400, access: constants.R_OK },
  write: { owner: 0o200, access: constants.W_OK }
} as const

interface Owned {
  readonly uid: number
  readonly mode: number
}

/** Looked up once: a server does not change its user while it runs, and the lookup is a system call. */
let ownUid: number | undefined

/** True if the mode permits it to the owner, who is this process. */
export function permitsOwner({ uid, mode }: Owned, way: keyof typeof ways): boolean {
  ownUid ??= process.geteuid?.() ?? -1
  return uid === ownUid && (mode & ways[way].owner) !== 0
}

/** True if the mode of an entry permits it to the owner. Otherwise the system decides, which knows groups and access lists. */
export function mayAccess(
  directory: Directory,
  name: string,
  { uid, mode }: BigIntStats,
  way: keyof typeof ways
): boolean {
  if (permitsOwner({ uid: Number(uid), mode: Number(mode) }, way)) return true
  return attempt(() => directory.within((at) => accessSync(at(name), ways[way].access)))
}
