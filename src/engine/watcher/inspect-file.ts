// A first look at a tracked file, by stat only: whether its content has to be examined.
import { lstatSync } from 'node:fs'
import { isErrno } from '../../support/errno.ts'
import type { History } from '../versions/history.ts'
import { isSameIdentity } from '../files/identity.ts'

/** `unknown`: only its content can tell. */
export type Look = 'same' | 'different' | 'unknown' | 'untracked'

export function inspectFile(path: string, history: History): Look {
  const last = history.last(path)
  if (last === undefined) return 'untracked'
  const identity = history.known(path)?.identity
  try {
    const stat = lstatSync(path, { bigint: true })
    if (last.hash === null) return stat.isFile() ? 'different' : 'same'
    if (identity === undefined) return 'unknown'
    if (!isSameIdentity(stat, identity)) return 'different'
    return identity.isTrusted ? 'same' : 'unknown'
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return last.hash === null ? 'same' : 'different'
    return 'unknown'
  }
}
