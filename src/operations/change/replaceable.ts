// Whether bytes may be put in the place of a version, or of nothing: size, read-only files, and files of several names.
import type { OperationContext } from '../../engine/call/context.ts'
import { checkSize, type FileVersion } from '../../engine/files/read-file.ts'
import { OperationError } from '../../errors.ts'

/** @throws OperationError FILE_TOO_LARGE, ACCESS_DENIED */
export function requireReplaceable(
  { config: { crud } }: Pick<OperationContext, 'config'>,
  path: string,
  current: FileVersion | undefined,
  bytes: Buffer
): void {
  const limits = { maxFileBytes: crud.max_file_size_bytes }
  checkSize(bytes.length, path, limits, 'Nothing was changed: the file would have', '')
  if (current === undefined) return
  const { links, isWritable } = current
  if (links > 1 && crud.hardlinks === 'refuse') {
    const message = `File has ${links} names (hard links), and writing would separate them: ${path}. Nothing was changed: the operator forbids that (crud.hardlinks).`
    throw new OperationError('ACCESS_DENIED', message, { path, details: { links } })
  }
  if (isWritable) return
  const message = `The file is read-only: ${path}. Change its mode first, or ask its owner.`
  throw new OperationError('ACCESS_DENIED', message, { path })
}
