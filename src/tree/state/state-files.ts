// The state files of a tree, one in each root: where other programs find the server.
import { messageOf } from '../../support/error-message.ts'
import { createStateFile, type Member, type StateFile } from './state-file.ts'

/** @param onTrouble called with what is wrong after each attempt; undefined if nothing is. A process that cannot write them serves the tree all the same. */
export function createStateFiles(roots: readonly string[], onTrouble: (message: string | undefined) => void) {
  const files = roots.map((root) => createStateFile(root, roots))

  function onEach(act: (file: StateFile) => void, what: string): void {
    let trouble: string | undefined
    for (const file of files) {
      try {
        act(file)
      } catch (error) {
        trouble = `The server could not ${what} a state file: ${messageOf(error)}. It serves the tree, but discover and the guard may not find it.`
      }
    }
    onTrouble(trouble)
  }

  return {
    areInPlace: (): boolean => files.every((file) => file.isInPlace()),
    write: (member: Member): void => onEach((file) => file.write(member), 'write'),
    /** Those of this process. */
    remove: (): void => onEach((file) => file.removeOwn(), 'remove')
  }
}
