// One host: the lock of the system elects the authority, and frees its place however it ends. Relays reach it over a socket of this user.
import { openAddress } from '../authority/address.ts'
import { meetAt } from '../authority/meeting-point.ts'
import { createAuthorityLock } from '../state/authority-lock.ts'
import { createMembersLock } from '../state/members-lock.ts'
import { createStateDirectory } from '../state/state-directory.ts'
import type { Coordinator } from './coordinator.ts'

/** @param roots real paths; the first names the tree */
export function createLocalCoordinator(roots: readonly [string, ...string[]]): Coordinator {
  const [tree] = roots
  const lock = createAuthorityLock(roots)
  const directory = createStateDirectory(tree)
  return {
    campaign: () => lock.tryAcquire(),
    look() {},
    isInPlace: () => lock.isInPlace(),
    leader: () => lock.holder(),
    leaderHint: process.platform === 'win32' ? '' : ` (fuser ${directory.path}/authority.lock names it)`,
    epoch: () => undefined,
    resign: () => lock.release(),
    openPoint: () => meetAt(openAddress(tree, directory)),
    members: createMembersLock(tree),
    names: () => roots,
    isLeased: false,
    silenceMs: undefined,
    facts: () => undefined
  }
}
