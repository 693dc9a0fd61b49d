// Renames an entry where several hosts serve the tree: through the stage, which the next authority takes away.
import { renameSync } from 'node:fs'
import { attempt } from '../../support/attempt.ts'
import { isErrno, OperationError } from '../../errors.ts'
import { fileNotFound } from '../files/read-file.ts'
import type { OpenNote } from './notes.ts'
import { takeIntoStage, type Stage } from './stages.ts'
import type { OpenEntry } from '../files/walk.ts'
import { Unanswered } from './unanswered.ts'
import { explainWriteError } from './write-error.ts'
import { rename } from './write-file.ts'

interface NamedPlace {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
}

/**
 * In two steps, each of which fails once another authority has the tree; that one ends a rename of which only the first was made.
 * @param name in the stage
 * @param note of these steps
 */
export function renameThrough(
  stage: Stage,
  name: string,
  { place: from, path }: NamedPlace,
  to: NamedPlace,
  note: OpenNote | undefined
): void {
  let isTaken = false
  try {
    takeIntoStage(stage, name, from)
    isTaken = true
    rename(stage, name, to.place)
  } catch (error) {
    const isBack =
      !(error instanceof Unanswered) &&
      (!isTaken || attempt(() => from.directory.within((at) => renameSync(stage.at(name), at(from.name)))))
    if (!isBack) {
      note?.leave()
      stage.doubt()
      throw unknownRename(path, to.path, error)
    }
    const explained = stage.explain(error, to.path)
    if (isErrno(explained, 'ENOENT') && !isTaken) throw fileNotFound(path, error)
    throw explainWriteError(explained, to.path, 'RENAME_ERROR')
  }
}

function unknownRename(path: string, newPath: string, cause: unknown): OperationError {
  const message = `This host lost the tree while it renamed ${path} to ${newPath}; the next host ends the rename. List the folder of ${newPath} with async_list, then go on.`
  return new OperationError('AUTHORITY_LOST', message, { path, cause })
}
