// A native edit from before the tool runs to its end: its files are locked, what it would overwrite is checked, what it made is recorded.
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { NativeTurn, TurnEnd } from '../../engine/native-turns.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import { readVersion } from '../change/file-version.ts'
import { withLocks } from '../locking/with-locks.ts'
import { resolveFile } from '../locking/resolve-files.ts'
import { judgeEdit, type TargetFile, type UnseenChange } from './judge-edit.ts'
import type { FileEdit, Harness } from './native-call.ts'
import { recordMade } from './record-made.ts'
import { describeUnseen } from './unseen-text.ts'

interface NativeEdit {
  readonly agentId: string
  readonly callId: string | undefined
  readonly tool: string
  readonly edits: readonly FileEdit[]
  readonly harness: Harness
}

/** The failures that say why a tool must not run. After any other one the harness decides as usual. */
const refusals = ['LOCK_TIMEOUT', 'LOCK_REQUIRED', 'LEASE_LOST', 'DEADLOCK', 'OVERLOADED'] as const

/** Why the tool must not run; undefined if it may. Then its files stay locked until `endNativeEdit`, or for `locks.native_edit_seconds`. */
export async function beginNativeEdit(
  context: OperationContext,
  edit: NativeEdit,
  waitSeconds: number
): Promise<string | undefined> {
  const files = toTargets(context, edit)
  if (files.length === 0) return undefined
  const { agentId, callId, tool } = edit
  const paths = files.map(({ path }) => path)
  // The tool of a turn that still has the file has ended unheard: its agent would wait for itself.
  for (const turn of context.nativeTurns.of(agentId, paths)) await turn.end('silent')
  const decided = withResolvers<string | undefined>()
  const ended = withResolvers<TurnEnd>()
  const turn: NativeTurn = {
    agentId,
    callId,
    paths,
    end(how) {
      ended.resolve(how)
      return settled
    }
  }
  const targets = files.map(({ given }) => ({ path: given, mode: 'exclusive', reach: 'target' }) as const)
  const options = { operation: 'native_edit', timeout: waitSeconds }
  const settled = withLocks(context, targets, options, async (places) => {
    const before = await Promise.all(places.map((place, index) => look(context, place, files[index]!.given)))
    const unseen: UnseenChange[] = []
    for (const [index, file] of files.entries()) {
      const judged = await judgeEdit(context, edit, file, before[index])
      if ('refusal' in judged) {
        decided.resolve(judged.refusal)
        return undefined
      }
      if (judged.unseen !== undefined) unseen.push(judged.unseen)
    }
    const remove = context.nativeTurns.add(turn)
    try {
      decided.resolve(undefined)
      const how = await endOf(context, ended)
      for (const [index, file] of files.entries())
        await recordMade(context, edit, file, before[index], {
          how,
          isUpToDate: !unseen.some(({ path }) => path === file.path)
        })
      return how === 'reported' ? await describeUnseen(context, unseen) : undefined
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
    return `${tool} was not run. ${(error as OperationError).message}`
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
  const turns = context.nativeTurns.of(agentId, paths, callId)
  const texts = await Promise.all(turns.map(({ end }) => end('reported')))
  const known = new Set(turns.flatMap((turn) => turn.paths))
  for (const file of files.filter(({ path }) => !known.has(path))) await recordLate(context, edit, file)
  return texts.find((text) => text !== undefined)
}

/** The time of the turn is over, or its process was another one: what the file is now counts. */
async function recordLate(context: OperationContext, edit: NativeEdit, file: TargetFile): Promise<void> {
  const last = context.history.last(file.path)
  const targets = [{ path: file.given, mode: 'exclusive', reach: 'target' }] as const
  const timeout = context.config.locks.native_wait_seconds
  await withLocks(context, targets, { operation: 'native_edit', timeout }, async () =>
    recordMade(context, edit, file, last, { how: 'reported', isUpToDate: false })
  )
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

/** Undefined if there is no file, or none that can be read: then there is nothing to compare. */
async function look(context: OperationContext, place: OpenEntry, given: string): Promise<FileVersion | undefined> {
  try {
    return place.stat === undefined ? undefined : await readVersion(context, place, given)
  } catch (error) {
    if (error instanceof OperationError) return undefined
    throw error
  } finally {
    context.work.release()
  }
}

async function endOf(
  { config, signal }: OperationContext,
  ended: { readonly promise: Promise<TurnEnd>; readonly resolve: (end: TurnEnd) => void }
): Promise<TurnEnd> {
  const silent = () => ended.resolve('silent')
  const timer = setTimeout(silent, config.locks.native_edit_seconds * 1000)
  // The hook has gone before it had its answer.
  if (signal.aborted) silent()
  signal.addEventListener('abort', silent)
  try {
    return await ended.promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', silent)
  }
}
