// One host: the lock of the system elects the authority, and frees its place however it ends. Relays reach it over a socket of this user.
import type { Root } from '../../engine/files/roots.ts'
import { openAddress } from './address.ts'
import { meetAt } from './meeting-point.ts'
import { createAuthorityLock } from '../state/authority-lock.ts'
import { createMembersLock } from '../state/members-lock.ts'
import { servedDirectory } from '../state/served-directory.ts'
import type { Coordinator } from './coordinator.ts'

/** @param roots the first names the tree */
export function createLocalCoordinator(roots: readonly [Root, ...Root[]]): Coordinator {
  const [tree] = roots
  const lock = createAuthorityLock(roots)
  const directory = servedDirectory(tree)
  const names = roots.map(({ real }) => real)
  return {
    campaign: () => lock.tryAcquire(),
    look() {},
    isInPlace: () => lock.isInPlace(),
    leader: () => lock.holder(),
    leaderHint: process.platform === 'win32' ? '' : ` (fuser ${directory.path}/authority.lock names it)`,
    epoch: () => undefined,
    resign: () => lock.release(),
    openPoint: () => meetAt(openAddress(tree.real, directory)),
    members: createMembersLock(tree),
    names: () => names,
    isLeased: false,
    silenceMs: undefined,
    view: undefined,
    facts: () => undefined
  }
}
