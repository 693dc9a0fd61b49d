// Records what a native tool has made of a file, with its agent.
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import type { TurnEnd } from '../../engine/native-turns.ts'
import { nativeEdit, probableEdit } from '../../engine/versions/history.ts'
import { markKnown, seenVersions, textOf, withLineEndsOf, type TargetFile } from './judge-edit.ts'

/**
 * Runs under the lock of the file. Other programs take no locks: what is there now counts as the agent's only if it is what its tool was
 * to make of the version before, or of one that the agent knew. An agent that is taken to know more would overwrite it.
 * @param before its hash is null if there was no file; undefined if what was there is not known
 */
export async function recordMade(
  context: OperationContext,
  { agentId }: { readonly agentId: string },
  file: TargetFile,
  before: { readonly hash: string | null } | undefined,
  how: TurnEnd
): Promise<void> {
  const { history, bases } = context
  const { path } = file
  const made = await readNow(context, file)
  if (made === 'unreadable') return
  const last = before?.hash ?? undefined
  const seen = seenVersions(context, agentId, path).map(({ hash }) => hash)
  const origins = await findOrigins(context, file, made, how, [...seen, last])
  if (before === undefined || made?.hash !== last) {
    const operation = origins.length > 0 ? nativeEdit : probableEdit
    const author = before === undefined ? {} : { author: { agentId, operation } }
    if (made === undefined) return history.recordGone(path, author)
    bases.keep(made.hash, made.bytes)
    history.record(path, made.hash, made.identity, author)
  }
  if (made === undefined || origins.length === 0) return
  if (file.patches === undefined && file.content !== undefined) return markKnown(context, agentId, file, made.hash)
  const known = origins.find((hash) => hash !== undefined && (seen.length === 0 || seen.includes(hash)))
  if (known !== undefined) markKnown(context, agentId, file, made.hash, known)
}

/** Which of these versions the tool has turned into what is there now; the last of them is the one before. */
async function findOrigins(
  context: OperationContext,
  { path, patches, content }: TargetFile,
  made: FileVersion | undefined,
  how: TurnEnd,
  versions: readonly (string | undefined)[]
): Promise<readonly (string | undefined)[]> {
  // Tools that delete, and those of notebooks, do not say what they make.
  if (patches === undefined && content === undefined) return how === 'reported' ? versions.slice(-1) : []
  const text = decodeIfText(made?.bytes, context.config.crud.default_encoding, path)
  if (text === undefined) return []
  if (patches === undefined) return content !== undefined && isSameText(text, content) ? versions : []
  const origins: string[] = []
  for (const hash of new Set(versions)) {
    const base = hash === undefined ? undefined : await textOf(context, hash, path)
    if (hash === undefined || base === undefined) continue
    const spelt = patches.map((patch) => withLineEndsOf(base, patch))
    const outcome = await context.differ.apply({ text: base, patches: spelt })
    if ('text' in outcome && isSameText(text, outcome.text)) origins.push(hash)
  }
  return origins
}

/** Tools keep line ends and a byte order mark, or do not. */
function isSameText(one: string, other: string): boolean {
  const plain = (text: string) => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  return plain(one) === plain(other)
}

/** Whether there is no file at a path, or something else than a file. */
export function isNoFile(error: unknown): boolean {
  return isOperationError(error, 'FILE_NOT_FOUND') || isOperationError(error, 'NOT_A_FILE')
}

async function readNow(
  { files, log }: OperationContext,
  { path, given }: TargetFile
): Promise<FileVersion | undefined | 'unreadable'> {
  try {
    const place = files.open(path, 'target')
    try {
      // A link that the tool has put in its place leads to another file, which is not locked.
      return place.stat === undefined || place.path !== path ? undefined : await files.read(place, given)
    } finally {
      place.close()
    }
  } catch (error) {
    if (isNoFile(error)) return undefined
    if (!(error instanceof OperationError)) throw error
    log.warn({ err: error, path }, 'what a native tool has made could not be read')
    return 'unreadable'
  }
}
