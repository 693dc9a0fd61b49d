// Records what a native tool has made of a file, with its agent.
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import type { TurnEnd } from '../../engine/native-turns.ts'
import { nativeEdit, probableEdit } from '../../engine/versions/history.ts'
import { markKnown, type TargetFile } from './judge-edit.ts'

interface Made {
  readonly how: TurnEnd
  /** True if the session had seen the version that the tool has changed. */
  readonly isUpToDate: boolean
}

/** Runs under the lock of the file. @param before undefined if there was no file; the version that was last known if that is unsure */
export async function recordMade(
  context: OperationContext,
  { agentId }: { readonly agentId: string },
  file: TargetFile,
  before: { readonly hash: string | null } | undefined,
  { how, isUpToDate }: Made
): Promise<void> {
  const { history, bases } = context
  const { path, given, content, patches } = file
  const made = await readNow(context, given)
  if (made === 'unreadable') return
  if ((made?.hash ?? null) === (before?.hash ?? null)) return
  const isCertain = how === 'reported' || isAnnounced(context, file, made)
  const author = { agentId, operation: isCertain ? nativeEdit : probableEdit }
  if (made === undefined) {
    history.recordGone(path, { author })
    return
  }
  bases.keep(made.hash, made.bytes)
  history.record(path, made.hash, made.identity, { author })
  if (!isCertain) return
  const isReplaced = patches === undefined && content !== undefined
  const base = before?.hash ?? undefined
  if (isReplaced) markKnown(context, agentId, { path, given }, made.hash)
  else if (isUpToDate && base !== undefined) markKnown(context, agentId, { path, given }, made.hash, base)
}

/** Whether the file is now what the tool was about to make of it. */
function isAnnounced(
  { config }: OperationContext,
  { content, patches, path }: TargetFile,
  made: FileVersion | undefined
) {
  const text = decodeIfText(made?.bytes, config.crud.default_encoding, path)?.replaceAll('\r\n', '\n')
  if (text === undefined) return false
  if (patches === undefined) return content !== undefined && text === content.replaceAll('\r\n', '\n')
  return patches.every(({ new_string }) => new_string !== '' && text.includes(new_string))
}

/** Under the name by which the tool knows it: it may have become another file. */
async function readNow({ files }: OperationContext, given: string): Promise<FileVersion | undefined | 'unreadable'> {
  try {
    const place = files.open(given, 'target')
    try {
      return place.stat === undefined ? undefined : await files.read(place, given)
    } finally {
      place.close()
    }
  } catch (error) {
    if (isOperationError(error, 'FILE_NOT_FOUND')) return undefined
    if (error instanceof OperationError) return 'unreadable'
    throw error
  }
}
