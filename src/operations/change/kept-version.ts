// The bytes of a past version, or an error that says why there are none; its text.
import { OperationError } from '../../errors.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { firstDigits } from '../../support/hash-digits.ts'
import type { OperationContext } from '../../engine/call/context.ts'

/** @throws OperationError VERSION_NOT_KEPT */
export async function keptBytes({ bases }: OperationContext, path: string, hash: string): Promise<Buffer> {
  const bytes = await bases.get(hash)
  if (bytes !== undefined) return bytes
  const message = `No bytes are kept for ${firstDigits(hash)}: the server has dropped that version (crud.base_cache_bytes), or never had it. async_history with path ${path} shows the versions that are kept.`
  throw new OperationError('VERSION_NOT_KEPT', message, { path })
}

/** Undefined if the bytes are not kept, or are not text. @param path for messages only */
export async function keptText(
  { bases, config }: Pick<OperationContext, 'bases' | 'config'>,
  path: string,
  hash: string
): Promise<string | undefined> {
  return decodeIfText(await bases.get(hash), config.crud.default_encoding, path)
}

/** Of the newest version that the history knows. */
export function snapshotNow({ history }: Pick<OperationContext, 'history'>): string {
  return `snapshot-${history.seq}`
}

/**
 * The version that a path had at a moment.
 * @throws OperationError VERSION_NOT_KEPT, or FILE_NOT_FOUND if there was no file then
 */
export async function versionAt(context: OperationContext, path: string, snapshot: string) {
  const { files, history } = context
  const moment = Number(snapshot.slice(snapshot.indexOf('-') + 1))
  const canonical = files.resolve(path, 'target').path
  const version = history.versions(canonical).findLast(({ seq }) => seq <= moment)
  if (version === undefined) {
    const message = `The server does not know what ${path} was at ${snapshot}: it had not been read or changed here by then, or that version is no longer remembered (crud.max_file_versions, crud.max_history_bytes, crud.max_history_age_days). Read the current version without snapshot.`
    throw new OperationError('VERSION_NOT_KEPT', message, { path })
  }
  const { hash } = version
  if (hash === null) throw new OperationError('FILE_NOT_FOUND', `There was no file ${path} at ${snapshot}.`, { path })
  return { hash, bytes: await keptBytes(context, path, hash) }
}
