// Whether this process may read or write a file.
import { accessSync, constants, type BigIntStats } from 'node:fs'

const modes = {
  read: { owner: 0o400n, access: constants.R_OK },
  write: { owner: 0o200n, access: constants.W_OK }
} as const

/** Looked up once: a server does not change its user while it runs, and the lookup is a system call. */
let ownUid: bigint | undefined

/** True if the mode permits it to the owner. Otherwise the system decides, which knows groups and access lists. */
export function mayAccess(path: string, { uid, mode }: BigIntStats, way: keyof typeof modes): boolean {
  const { owner, access } = modes[way]
  ownUid ??= BigInt(process.geteuid?.() ?? -1)
  if (uid === ownUid && (mode & owner) !== 0n) return true
  try {
    accessSync(path, access)
    return true
  } catch {
    return false
  }
}
