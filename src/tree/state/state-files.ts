// The state files of a tree, one in each root: where other programs find the server.
import { isGone } from '../../engine/files/root-presence.ts'
import type { Root } from '../../engine/files/roots.ts'
import { messageOf } from '../../support/error-message.ts'
import { servedDirectory } from './served-directory.ts'
import { createStateFile, type Member, type StateFile } from './state-file.ts'

/** @param onTrouble called with what is wrong after each attempt; undefined if nothing is. A process that cannot write them serves the tree all the same. */
export function createStateFiles(roots: readonly Root[], onTrouble: (message: string | undefined) => void) {
  const reals = roots.map(({ real }) => real)
  const knownAs = roots[0]?.knownAs
  const files = roots.map((root) => ({ root, file: createStateFile(root.real, reals, servedDirectory(root), knownAs) }))

  function onEach(act: (file: StateFile) => void, what: string): void {
    let trouble: string | undefined
    for (const { root, file } of files) {
      // A program that looks for a server begins at a folder that is there.
      if (isGone(root)) continue
      try {
        act(file)
      } catch (error) {
        trouble = `The server could not ${what} a state file: ${messageOf(error)}. It serves the tree, but discover and the guard may not find it.`
      }
    }
    onTrouble(trouble)
  }

  return {
    areInPlace: (): boolean => files.every(({ root, file }) => file.isInPlace() || isGone(root)),
    write: (member: Member): void => onEach((file) => file.write(member), 'write'),
    /** Those of this process. */
    remove: (): void => onEach((file) => file.removeOwn(), 'remove')
  }
}
