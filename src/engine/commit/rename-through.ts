// Renames an entry where several hosts serve the tree: through the stage, which the next authority takes away.
import { renameSync } from 'node:fs'
import { attempt } from '../../support/attempt.ts'
import { isErrno, OperationError } from '../../errors.ts'
import { fileNotFound } from '../files/read-file.ts'
import type { Stage } from './stages.ts'
import { temporaryName } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'
import { explainWriteError } from './write-error.ts'

interface NamedPlace {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
}

/** In two steps, each of which fails once another authority has the tree; that one ends a rename of which only the first was made. */
export function renameThrough(
  stage: Stage,
  { place: from, path }: NamedPlace,
  to: NamedPlace & { readonly overwrite: boolean }
): void {
  const name = temporaryName()
  const source = from.directory.at(from.name)
  let endNote = () => {}
  let isTaken = false
  try {
    endNote = stage.note(name, { from: from.path, to: to.place.path, overwrite: to.overwrite })
    renameSync(source, stage.at(name))
    isTaken = true
    renameSync(stage.at(name), to.place.directory.at(to.place.name))
    endNote()
  } catch (error) {
    const isBack = !isTaken || attempt(() => renameSync(stage.at(name), source))
    // The next authority ends the rename, by the note.
    if (!isBack) throw unknownRename(path, to.path, error)
    endNote()
    const explained = stage.explain(error, to.path)
    if (isErrno(explained, 'ENOENT') && !isTaken) throw fileNotFound(path, error)
    throw explainWriteError(explained, to.path, 'RENAME_ERROR')
  }
}

function unknownRename(path: string, newPath: string, cause: unknown): OperationError {
  const message = `This host lost the tree while it renamed ${path} to ${newPath}; the next host ends the rename. List the folder of ${newPath} with async_list, then go on.`
  return new OperationError('AUTHORITY_LOST', message, { path, cause })
}
