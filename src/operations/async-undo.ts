// async_undo: takes back the changes of an agent, a task, a time or a list of versions; what others have built on other lines stays.
import { contract } from '../../schemas/contract.ts'
import type { UndoInput, UndoOutput } from '../../schemas/undo.ts'
import type { OperationContext } from '../engine/call/context.ts'
import type { DiffFormat } from '../engine/diff/compare.ts'
import { decodeIfText } from '../engine/files/text.ts'
import { shownPath } from '../engine/notices/shown-path.ts'
import { modesAsText } from '../engine/versions/modification.ts'
import { lookAgain } from '../engine/watcher/look-again.ts'
import { remember } from '../support/remember.ts'
import { questionOf } from '../support/suggest.ts'
import { timestamp } from '../support/timestamp.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { awaitCommands } from './commands/bracket.ts'
import { withLocks } from './locking/with-locks.ts'
import { changeSetOf } from './transaction/change-set.ts'
import { commitSteps } from './change/commit.ts'
import { createRoom } from './change/answer-room.ts'
import { wholeHash } from './change/named-version.ts'
import { previewDiff } from './change/preview-diff.ts'
import { meansOutside, requireKnown, toChoice } from './undo/choose.ts'
import { composeChanges, type ChangedFile, type Composed } from './undo/compose.ts'
import { leftOf, readLineages, type Lineage, type LineageChange } from './undo/lineages.ts'
import { takeBack, type TakenBack } from './undo/take-back.ts'

export const asyncUndo = defineOperation({
  name: 'async_undo',
  title: 'Take changes back',
  description:
    'Takes changes back, in any combination by_agent (external: made outside this server), of_change_set, since, until, paths and versions: exactly these, newest first, all in one transaction. What others have changed on other lines stays. Where others have changed the same lines, nothing is changed and the answer has status "contention" with each conflict, unless partial is true. Deleted files come back, and renames are followed. An undo is a change itself: undo its change_set to redo. dry_run shows the diffs.',
  ...contract.async_undo,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'VERSION_NOT_KEPT', 'INVALID_PATTERN', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: undo
})

async function undo(given: UndoInput, context: OperationContext): Promise<UndoOutput> {
  const own = changeSetOf(context, 'undo')
  await awaitCommands(context)
  const input = { ...given, ...(given.versions && { versions: given.versions.map((one) => withWholeHash(one, own)) }) }
  if (meansOutside(input)) await lookAgain(context, context.config.watcher.bulk_files, context.signal)
  // The first look finds the files to lock; under the locks a second one counts.
  const first = await plan(input, own)
  let paths = pathsOf(first)
  for (;;) {
    if (paths.length === 0) return answer(input, own, undefined, first)
    const outcome = await attempt(input, own, paths)
    if ('answer' in outcome) return outcome.answer
    paths = outcome.paths
  }
}

function withWholeHash({ path, hash }: { path: string; hash: string }, context: OperationContext) {
  const canonicalPath = context.files.resolve(path, 'entry').path
  return { path, hash: wholeHash(hash, { path, canonicalPath }, context) }
}

type Attempt = { readonly answer: UndoOutput } | { readonly paths: string[] }

async function attempt(input: UndoInput, context: OperationContext, paths: readonly string[]): Promise<Attempt> {
  const targets = paths.map((path) => ({ path, mode: 'exclusive', reach: 'canonical' }) as const)
  const options = { operation: 'async_undo', timeout: input.timeout }
  const outcome = await withLocks(context, targets, options, async (places, lock) => {
    const composer = await composeChanges(context, new Map(places.map((place) => [place.path, place])))
    const planned = await plan(input, context)
    const locked = new Set(paths)
    const needed = pathsOf(planned)
    if (needed.some((path) => !locked.has(path))) return { paths: [...new Set([...paths, ...needed])] }
    const composed = composer.compose(planned.taken, input.partial)
    const isRefused = composed.conflicts.length > 0 && !input.partial
    const done = remember(() => answer(input, context, composed, planned))
    if (!input.dry_run && !isRefused && composed.changes.length > 0)
      await commitSteps(context, composed.changes, {
        operation: 'async_undo',
        assertHeld: () => lock.assertHeld(),
        sightOf: () => 'named',
        answer: done
      })
    return { composed, done }
  })
  if (outcome.paths !== undefined) return { paths: outcome.paths }
  const { composed, done } = outcome
  const made = done()
  if (!input.dry_run) return { answer: made }
  const room = createRoom(context)
  const files = []
  for (const [index, file] of made.files.entries()) {
    const preview = await previewOf(context, composed.changed[index]!, input.diff_format)
    files.push({ ...file, ...preview, ...(room(preview.diff ?? null) ? {} : { diff: null }) })
  }
  return { answer: { ...made, files } }
}

/** The diff of one file of an undo that is only tried. */
async function previewOf(
  context: OperationContext,
  { from, previous_hash, hash, bytes }: ChangedFile,
  format: DiffFormat | undefined
) {
  const { bases, config } = context
  const encoding = config.crud.default_encoding
  const textOf = async (version: string | null) =>
    version === null
      ? ''
      : decodeIfText(bytes?.hash === version ? bytes.bytes : await bases.get(version), encoding, from)
  const [base, current] = [await textOf(previous_hash), await textOf(hash)]
  if (base === undefined || current === undefined) return { diff: null }
  return { diff: await previewDiff(context, base, current, format) }
}

interface Plan {
  readonly taken: readonly TakenBack[]
  /** How many changes fit and are left. */
  readonly uncertain: number
  /** Of all changes that are known. */
  readonly lineages: readonly Lineage[]
}

async function plan(input: UndoInput, context: OperationContext): Promise<Plan> {
  const { isChosen, isUncertain } = toChoice(input, context)
  const lineages = await readLineages(context)
  requireKnown(input, lineages, context)
  const taken: TakenBack[] = []
  for (const lineage of lineages) {
    const one = await takeBack(context, lineage, { isChosen, isPartial: input.partial })
    if (one !== undefined) taken.push(one)
  }
  const fits = (change: LineageChange) => isChosen(change) || isUncertain(change)
  const uncertain = lineages.reduce(
    (sum, { changes }) => sum + leftOf(changes, fits).left.filter(isUncertain).length,
    0
  )
  return { taken, uncertain, lineages }
}

function pathsOf({ taken }: Plan): string[] {
  return [...new Set(taken.flatMap(({ lineage, target }) => [lineage.path, target.path]))]
}

function answer(
  input: UndoInput,
  context: OperationContext,
  composed: Composed | undefined,
  { uncertain, lineages }: Plan
): UndoOutput {
  const { conflicts = [], changed = [] } = composed ?? {}
  const { forgottenAt } = context.history
  const isRefused = conflicts.length > 0 && !input.partial
  const undone = changed.reduce((sum, { count }) => sum + count, 0)
  const question =
    input.by_agent === undefined || changed.length > 0 ? '' : questionOf(input.by_agent, authorsIn(lineages))
  const message = isRefused
    ? 'Nothing was changed: not all of the changes can be taken back beside what was made since (conflicts says which). partial: true takes back those that can.'
    : conflicts.length > 0
      ? 'Nothing was changed: none of the changes can be taken back beside what was made since (conflicts).'
      : `None of the changes that are known fits, or all of them are taken back already.${question} async_history shows the changes.`
  const left = `${uncertain} changes fit, but another may have made them: include_uncertain: true takes them back, too.`
  return {
    status: isRefused ? 'contention' : 'ok',
    ...(input.dry_run && { dry_run: true as const }),
    ...(changed.length > 0 && !isRefused && !input.dry_run && { change_set: context.caller.changeSet as string }),
    undone: isRefused ? 0 : undone,
    ...(uncertain > 0 && { uncertain }),
    files: isRefused
      ? []
      : changed.map(({ from, to, previous_hash, hash, modes, count, links_broken, kept }) => ({
          path: shownPath(from, context.files),
          ...(to !== from && { new_path: shownPath(to, context.files) }),
          previous_hash,
          hash,
          ...modesAsText(modes),
          changes: count,
          ...(links_broken !== undefined && { links_broken }),
          ...(kept !== undefined && { kept })
        })),
    conflicts: [...conflicts],
    ...(forgottenAt !== undefined && { forgotten_before: timestamp(forgottenAt) }),
    ...((isRefused || changed.length === 0 || uncertain > 0) && {
      message: [...(isRefused || changed.length === 0 ? [message] : []), ...(uncertain > 0 ? [left] : [])].join(' ')
    }),
    timestamp: timestamp()
  }
}

function authorsIn(lineages: readonly Lineage[]): string[] {
  return [...new Set(lineages.flatMap(({ changes }) => changes.map(({ version }) => version.agentId)))]
}
