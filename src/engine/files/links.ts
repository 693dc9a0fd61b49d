// Symbolic links as entries of their own: read, never followed.
import { readlinkSync, statSync, type BigIntStats } from 'node:fs'
import { resolve } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { OperationError } from '../../errors.ts'
import { isSameFile } from '../../support/same-file.ts'
import type { OpenEntry } from './walk.ts'

export function readLink({ directory, name }: Pick<OpenEntry, 'directory' | 'name'>): string {
  return directory.within((at) => readlinkSync(at(name)))
}

/**
 * A link that replaces its target would lead to itself, and the content would be gone.
 * @throws OperationError `INVALID_REQUEST`
 */
export function refuseLinkToItself(from: OpenEntry, to: OpenEntry, newPath: string): void {
  if (from.directory.stat(from.name)?.isSymbolicLink() !== true) return
  if (resolve(to.directory.path, readLink(from)) !== to.path && !leadsToFileAt(from, to)) return
  const message = `The symbolic link would point to itself as ${newPath}, because it points to that name or to the file there. Nothing was changed. Rename the file it points to, or choose another new_path.`
  throw new OperationError('INVALID_REQUEST', message, { path: newPath })
}

function leadsToFileAt(link: OpenEntry, { directory, name }: OpenEntry): boolean {
  const [target, other] = [statTarget(link), directory.stat(name)]
  return target !== undefined && other !== undefined && isSameFile(target, other)
}

/** The target of the link as the system follows it, outside the roots too; no answer shows it. */
function statTarget({ directory, name }: OpenEntry): BigIntStats | undefined {
  return orUndefined(() => directory.within((at) => statSync(at(name), { bigint: true })))
}
