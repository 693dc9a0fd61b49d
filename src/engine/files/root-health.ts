// Whether the roots are usable right now, within a bounded time: a file system that is gone may never answer.
import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { atMost } from '../../support/at-most.ts'
import { messageOf } from '../../support/error-message.ts'
import { isErrno } from '../../support/errno.ts'
import { isRoot, rootGone } from './root-presence.ts'
import type { Root } from './roots.ts'
import { explainRootError } from './walk-error.ts'

/** @returns checks all roots and says what is wrong with the unusable ones */
export function createRootProbe(roots: readonly Root[]): (limitMs: number) => Promise<string | undefined> {
  let underWay: Promise<string[]> | undefined

  async function look(): Promise<string[]> {
    return (await Promise.all(roots.map(troubleOf))).filter((trouble) => trouble !== undefined)
  }

  return async (limitMs) => {
    // One at a time: each look at a hanging file system takes a thread of Node's pool for good.
    underWay ??= look().finally(() => (underWay = undefined))
    const troubles = await atMost(limitMs, underWay)
    if (troubles === undefined)
      return `A root does not respond within ${limitMs} ms: check whether its file system hangs.`
    return troubles.join(' ') || undefined
  }
}

async function troubleOf(root: Root): Promise<string | undefined> {
  const { given, real } = root
  try {
    if (!isRoot(await lstat(real, { bigint: true }), root)) return rootGone(root).message
    await access(real, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EROFS'))
      return `The root ${given} cannot be read and written by this user (${String(error.code)}). Give the user of the server the rights, or mount it writable.`
    return messageOf(explainRootError(error, given))
  }
}
