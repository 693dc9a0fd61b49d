// A native edit from before the tool runs to its end: its files are locked, what it would overwrite is checked, what it made is recorded.
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { NativeTurn, TargetFile, UnseenChange } from '../../engine/leases/native-turns.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import { readVersion } from '../change/file-version.ts'
import { withLocks } from '../locking/with-locks.ts'
import { resolveFile } from '../locking/resolve-files.ts'
import { differenceText, judgeEdit, recordUnified } from './judge-edit.ts'
import type { FileEdit, Harness } from './native-call.ts'
import { createNativeTurn } from './native-turn.ts'
import { isNoFile, recordMade } from './record-made.ts'

interface NativeEdit {
  readonly agentId: string
  readonly callId: string | undefined
  readonly tool: string
  readonly edits: readonly FileEdit[]
  readonly harness: Harness
}

/** The failures that say why a tool must not run. After any other one the harness decides as usual. */
const refusals = ['LOCK_TIMEOUT', 'LOCK_REQUIRED', 'LEASE_LOST', 'DEADLOCK', 'OVERLOADED'] as const

/**
 * Why the tool must not run; undefined if it may. Then its files stay locked until `endNativeEdit`, or for `locks.native_edit_seconds`.
 * A harness may announce several edits before it makes the first: those of one file are one turn.
 */
export async function beginNativeEdit(
  context: OperationContext,
  edit: NativeEdit,
  waitSeconds: number
): Promise<string | undefined> {
  const files = toTargets(context, edit)
  const joined = new Map<NativeTurn, TargetFile[]>()
  const unseen: UnseenChange[] = []
  for (const file of files) {
    const [turn] = context.nativeTurns.of(edit.agentId, [file.path])
    if (turn === undefined) continue
    const judged = await judgeEdit(context, edit, file, turn.before.get(file.path))
    if ('refusal' in judged) return judged.refusal
    if (judged.unseen !== undefined) unseen.push(judged.unseen)
    joined.set(turn, [...(joined.get(turn) ?? []), file])
  }
  const taken = new Set([...joined.values()].flat())
  const others = files.filter((file) => !taken.has(file))
  const refusal = others.length === 0 ? undefined : await takeFiles(context, edit, others, waitSeconds)
  if (refusal !== undefined) return refusal
  const late = [...joined].filter(([turn, own]) => !turn.announce({ callId: edit.callId, files: own, unseen }))
  if (late.length === 0) return undefined
  // Their turns have ended meanwhile. To announce the others once more is harmless.
  await Promise.allSettled(late.map(([turn]) => turn.end()))
  return beginNativeEdit(context, edit, waitSeconds)
}

async function takeFiles(
  context: OperationContext,
  edit: NativeEdit,
  files: readonly TargetFile[],
  waitSeconds: number
): Promise<string | undefined> {
  const decided = withResolvers<string | undefined>()
  const targets = files.map(({ given }) => ({ path: given, mode: 'exclusive', reach: 'target' }) as const)
  const options = { operation: 'native_edit', timeout: waitSeconds }
  const settled: Promise<string | undefined> = withLocks(context, targets, options, async (places) => {
    const before = new Map<string, FileVersion | undefined>()
    for (const [index, file] of files.entries()) before.set(file.path, await look(context, places[index]!, file.given))
    const unseen: UnseenChange[] = []
    for (const file of files) {
      const judged = await judgeEdit(context, edit, file, before.get(file.path))
      if ('refusal' in judged) {
        decided.resolve(judged.refusal)
        return undefined
      }
      if (judged.unseen !== undefined) unseen.push(judged.unseen)
    }
    const seconds = context.config.locks.native_edit_seconds
    const turn = createNativeTurn(edit.agentId, before, seconds, () => settled)
    turn.announce({ callId: edit.callId, files, unseen })
    const remove = context.nativeTurns.add(turn)
    try {
      decided.resolve(undefined)
      const { isReported } = await turn.ended(context.signal)
      for (const { path, given } of files) {
        const known = { hash: before.get(path)?.hash ?? null }
        await recordMade(context, edit, { path, given, edits: turn.editsOf(path), before: known, isLate: false })
      }
      return isReported ? await describeUnseen(context, turn.unseen) : undefined
    } finally {
      remove()
    }
  })
  settled.catch((error: Error) => {
    decided.reject(error)
    context.log.debug({ err: error }, 'a native edit ended with an error')
  })
  try {
    return await decided.promise
  } catch (error) {
    if (!refusals.some((code) => isOperationError(error, code))) throw error
    return `${edit.tool} was not run. ${(error as OperationError).message}`
  }
}

/**
 * The harness says that its tool has ended, well or not.
 * @returns what others had changed in the files, if the model has not seen that yet
 */
export async function endNativeEdit(context: OperationContext, edit: NativeEdit): Promise<string | undefined> {
  const { agentId, callId } = edit
  const files = toTargets(context, edit)
  const paths = files.map(({ path }) => path)
  const turns = context.nativeTurns.of(agentId, paths).filter(({ isOver }) => !isOver)
  const texts = await Promise.all(turns.map((turn) => turn.report(callId, files)))
  const known = new Set(turns.flatMap(({ before }) => [...before.keys()]))
  for (const file of files.filter(({ path }) => !known.has(path))) await recordLate(context, edit, file)
  return texts.find((text) => text !== undefined)
}

/** The time of the turn is over, or its process was another one: others may have changed the file before the tool, or after it. */
async function recordLate(context: OperationContext, edit: NativeEdit, file: TargetFile): Promise<void> {
  const targets = [{ path: file.given, mode: 'exclusive', reach: 'target' }] as const
  const timeout = context.config.locks.native_wait_seconds
  const { path, given } = file
  await withLocks(context, targets, { operation: 'native_edit', timeout }, async () => {
    const edits = [{ ...file, isReported: true }]
    await recordMade(context, edit, { path, given, edits, before: context.history.last(path), isLate: true })
  })
}

/** Each file once; without those that this server does not serve, or does not let anybody change. */
function toTargets(context: OperationContext, { edits }: NativeEdit): readonly TargetFile[] {
  const files = new Map<string, TargetFile>()
  for (const { path: given, patches, content } of edits) {
    try {
      const { key, path } = resolveFile(given, context)
      const known = files.get(key)
      const all = known === undefined ? patches : known.patches && patches && [...known.patches, ...patches]
      files.set(key, { path, given, patches: all, content: known === undefined ? content : undefined })
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
    }
  }
  return [...files.values()]
}

/** Undefined if there is no file: then there is nothing to compare. @throws OperationError why it cannot be read: then nothing is checked */
async function look(context: OperationContext, place: OpenEntry, given: string): Promise<FileVersion | undefined> {
  try {
    return place.stat === undefined ? undefined : await readVersion(context, place, given)
  } catch (error) {
    if (isNoFile(error)) return undefined
    throw error
  } finally {
    context.work.release()
  }
}

/** What others had changed in a file that the model has just edited at another place. */
async function describeUnseen(context: OperationContext, unseen: readonly UnseenChange[]): Promise<string | undefined> {
  const { agentId } = context.caller
  const texts: string[] = []
  for (const { path, given, from, to, authors } of unseen) {
    const diff = await differenceText(context, path, from, to)
    // Otherwise a notice names the lines.
    if (diff === undefined || agentId === undefined) continue
    recordUnified(context, agentId, { path, given, hash: to, from }, diff)
    texts.push(`Your edit of ${given} was made beside changes of ${authors}, which you have not seen:\n${diff}`)
  }
  return texts.length === 0 ? undefined : texts.join('\n')
}
