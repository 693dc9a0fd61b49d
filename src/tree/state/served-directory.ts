// The server's own folder below a root that this process serves: never in a folder that has taken the place of the root.
import { openRoot } from '../../engine/files/root-presence.ts'
import type { Root } from '../../engine/files/roots.ts'
import { createStateDirectory, type StateDirectory } from './state-directory.ts'

/** While the root is gone, its methods throw an OperationError that says so; `read` finds nothing. */
export function servedDirectory(root: Root): StateDirectory {
  return createStateDirectory(root.real, () => openRoot(root))
}
