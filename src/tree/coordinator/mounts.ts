// Finds file systems that are mounted below a root: a change there cannot take effect by a rename out of the root's stage.
import { orUndefined } from '../../support/attempt.ts'
import { mountsBelow, readMounts } from '../../support/mounts.ts'

/** @throws Error that names the folder. Other systems than Linux do not say; there such a change is refused when it is made. */
export function refuseMountsBelow(root: string): void {
  const [inner] = mountsBelow(root, orUndefined(readMounts) ?? [])
  if (inner === undefined) return
  throw new Error(
    `several hosts cannot serve ${root}: ${inner} is a file system of its own, and a change there cannot be kept from a host that lost the tree. Unmount it, or make it a tree of its own`
  )
}
