// The differ: compares two texts within a bound, small ones at once, large ones on a thread of its pool.
import { availableParallelism } from 'node:os'
import type { Patch } from '../../../schemas/patches.ts'
import { createBudget, type Budget } from './budget.ts'
import { compareTexts, toTask, type Comparison, type ComparisonTask, type DiffFormat } from './compare.ts'
import { judgePatches } from './judge.ts'
import { createJobs, maxFallbackSteps } from './jobs.ts'
import { editLines, sizeOfEdits, type EditTask, type EditResult } from './line-edits.ts'
import { hasMoreLines } from './lines.ts'
import { mergeTexts } from './merge.ts'
import { applyPatches, type ApplyResult } from './patches.ts'
import { applyUnified, judgeUnified, type UnifiedResult, type UnifiedTask } from './unified-patch.ts'
import type { JudgeTask, PatchJudgement } from './judgement.ts'
import type { MergeResult, MergeTask } from './merge-result.ts'

export interface DifferOptions {
  /** Unchanged lines shown, and compared for `context_changed`, on either side of a change. Default 3. */
  readonly contextLines?: number
  /** Texts up to this size, in UTF-16 code units, are compared on the event loop. Default 64 Ki. */
  readonly inlineMaxBytes?: number
  /** Lines inserted and deleted beyond which the diff is coarse. Default 2,000. */
  readonly maxEditLength?: number
  /** Time on a thread for the search of the diff, and again for judging patches. Default 1,000. */
  readonly timeoutMs?: number
  /** Threads at most; they start when first needed and end when idle. Default: the processors but one, 1 to 4. */
  readonly maxWorkers?: number
  /** The most bytes a diff may take as JSON. Default 256 Ki. */
  readonly maxDiffBytes?: number
  /** The limit for the text that patches give, in UTF-8 bytes: beyond it they are not applicable. Default none. */
  readonly maxTextBytes?: number
  /** Called with the reason why a comparison was done coarsely here instead of on a thread. */
  readonly onFallback?: (reason: unknown) => void
  /** Called with the reason why there are no threads, and with undefined once there are. */
  readonly onTrouble?: (error: unknown) => void
}

export interface CompareInput {
  readonly base: string
  readonly current: string
  /** Undefined for the first one that costs little enough, `text` for a unified one that does. */
  readonly format?: DiffFormat | 'text' | undefined
  /** True if the difference is wanted at any price. Default: if it costs too much, the diff only names the changed lines. */
  readonly isWhole?: boolean
  /** The most bytes that the diff may take as JSON where it is shown: if it takes more, it only names the changed lines, wanted or not. */
  readonly mostBytes?: number | undefined
  /** The patches of the late update, if it has any. */
  readonly patches?: readonly Patch[] | undefined
  /** Its unified diff instead. */
  readonly unifiedDiff?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ApplyInput {
  readonly text: string
  readonly patches: readonly Patch[]
  readonly signal?: AbortSignal | undefined
}

export interface UnifiedInput {
  readonly text: string
  readonly unifiedDiff: string
  readonly signal?: AbortSignal | undefined
}

export interface EditInput extends EditTask {
  readonly signal?: AbortSignal | undefined
}

export interface MergeInput extends Pick<MergeTask, 'base' | 'current' | 'incoming'> {
  /** The most bytes that the conflicts may take as JSON where they are shown. Default, and most: `maxDiffBytes`. */
  readonly mostConflictBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export type Differ = ReturnType<typeof createDiffer>

// Measured: the search for this many lines takes 1 to 5 ms, whatever the texts. What needs more is better off on a thread.
const inlineEditLength = 100
const inlineMs = 10
// Edits by lines, in steps for each character: measured with texts of nothing but line breaks.
const editStepsPerChar = 8
// A merge compares four times, and searches other places for each change: 1 us a line.
const maxInlineMergeLines = 6_000
// Merging as a last resort: one hunk a side, 10 ms for a million characters in lines of usual length.
const maxFallbackMerge = 4 * 1024 * 1024
const maxFallbackMergeLines = 60_000
const noSearch = { maxEditLength: 0, timeoutMs: 0 }
const undecided: MergeResult = { conflicts: [], further: 0, hasContents: false, coarse: true }
// Time for judging patches here, as a last resort.
const fallbackMs = 20

/** The most that a diff may cost, as a part of reading the file again. A form that the caller chose may cost as much. */
const mostShare = { cheapest: 0.6, text: 0.6, json: 1, unified: 1 }
/** What another call costs beside the content: the request, the other members of the answer. */
const callBytes = 1000

/** In bytes of JSON, roughly: what escapes add counts for the diff only. */
function costOfReading(text: string): number {
  return callBytes + Buffer.byteLength(text)
}

export function createDiffer(options: DifferOptions = {}) {
  const { contextLines = 3, maxEditLength = 2_000, timeoutMs = 1_000, inlineMaxBytes = 64 * 1024 } = options
  const { maxDiffBytes = 256 * 1024, maxTextBytes = Infinity, onFallback = () => {}, onTrouble = () => {} } = options
  const { maxWorkers = Math.min(Math.max(availableParallelism() - 1, 1), 4) } = options
  const { onThread, withBudget, close } = createJobs({ maxWorkers, timeoutMs, onFallback, onTrouble })
  const inlineBound = {
    maxEditLength: Math.min(maxEditLength, inlineEditLength),
    timeoutMs: inlineMs,
    minimalOnly: true
  }

  type Compared = Comparison & { readonly judgement?: PatchJudgement }

  async function compare({ base, current, patches, unifiedDiff, signal, ...wanted }: CompareInput): Promise<Compared> {
    signal?.throwIfAborted()
    const format = wanted.format ?? 'cheapest'
    const bound = { maxEditLength, timeoutMs }
    const worth = wanted.isWhole === true ? undefined : mostShare[format] * costOfReading(current)
    const worthBytes = wanted.mostBytes === undefined ? worth : Math.min(worth ?? Infinity, wanted.mostBytes)
    const task = toTask(base, current, { format, contextLines, maxDiffBytes, worthBytes, bound })
    if (unifiedDiff !== undefined) {
      const hunks = { text: current, unifiedDiff, maxBytes: maxTextBytes }
      return await withJudgement(task, judgeHunks(hunks, signal), signal)
    }
    if (patches === undefined) return await createDiff(task, signal)
    const judgeTask = { base, current, patches, contextLines, maxBytes: maxTextBytes, bound }
    return await withJudgement(task, judge(judgeTask, signal), signal)
  }

  async function withJudgement(task: ComparisonTask, judging: Promise<PatchJudgement>, signal?: AbortSignal) {
    const [comparison, judgement] = await Promise.all([createDiff(task, signal), judging])
    // A change that can be sent again as it is needs no lines around.
    const isBare = task.format === 'text' && judgement.patches_applicable && comparison.diff?.format === 'unified'
    return { ...(isBare ? await createDiff({ ...task, contextLines: 0 }, signal) : comparison), judgement }
  }

  async function createDiff(task: ComparisonTask, signal?: AbortSignal): Promise<Comparison> {
    const isSmall = task.base.length + task.current.length <= 2 * inlineMaxBytes
    if (isSmall) {
      const comparison = compareTexts({ ...task, bound: inlineBound })
      if (!comparison.coarse) return comparison
    }
    return await onThread('compare', task, () => compareCoarsely(task), signal)
  }

  async function judge(task: JudgeTask, signal?: AbortSignal): Promise<PatchJudgement> {
    const here = judgePatches({ ...task, bound: inlineBound }, createBudget(16 * inlineMaxBytes))
    if (here.conflicts.length + here.non_conflicting_patches.length === task.patches.length) return here
    const bound = { ...noSearch, timeoutMs: fallbackMs }
    const fallback = () => judgePatches({ ...task, bound }, createBudget(maxFallbackSteps))
    return await onThread('judge', task, fallback, signal)
  }

  /** Without time to judge them, no hunk is said to apply. */
  async function judgeHunks(task: UnifiedTask, signal?: AbortSignal): Promise<PatchJudgement> {
    try {
      return await withBudget('judgeUnified', task, (budget) => judgeUnified(task, budget), signal)
    } catch (error) {
      if (signal?.aborted === true) throw error
      onFallback(error)
      return { patches_applicable: false, conflicts: [], non_conflicting_patches: [], applicable_patches: [] }
    }
  }

  async function apply({ text, patches, signal }: ApplyInput): Promise<ApplyResult> {
    const task = { text, patches, maxBytes: maxTextBytes }
    return await withBudget('apply', task, (budget) => applyPatches(text, patches, maxTextBytes, budget), signal)
  }

  async function applyUnifiedDiff({ text, unifiedDiff, signal }: UnifiedInput): Promise<UnifiedResult> {
    const task = { text, unifiedDiff, maxBytes: maxTextBytes }
    return await withBudget('unified', task, (budget) => applyUnified(task, budget), signal)
  }

  async function edit({ signal, ...task }: EditInput): Promise<EditResult> {
    const size = task.text.length + sizeOfEdits(task.changes)
    const make = (budget: Budget) => {
      budget.spend(editStepsPerChar * size)
      return editLines(task)
    }
    return await withBudget('edit', task, make, signal)
  }

  async function merge({ signal, mostConflictBytes = maxDiffBytes, ...texts }: MergeInput): Promise<MergeResult> {
    signal?.throwIfAborted()
    const size = texts.base.length + texts.current.length + texts.incoming.length
    const maxConflictBytes = Math.min(maxDiffBytes, mostConflictBytes)
    const task = { ...texts, maxConflictBytes, bound: { maxEditLength, timeoutMs } }
    const hasMore = (lines: number) => hasMoreLines([texts.base, texts.current, texts.incoming], lines)
    if (size <= 2 * inlineMaxBytes && !hasMore(maxInlineMergeLines)) {
      // It compares four times.
      const result = mergeTexts({ ...task, bound: { ...inlineBound, timeoutMs: 4 * inlineMs } })
      if (!result.coarse) return result
    }
    const fallback = () => {
      const isTooMuch = size > maxFallbackMerge || hasMore(maxFallbackMergeLines)
      return isTooMuch ? undecided : mergeTexts({ ...task, bound: noSearch })
    }
    return await onThread('merge', task, fallback, signal)
  }

  return {
    /** The difference base -> current, and whether the patches still apply. Rejects only with the reason of the signal. */
    compare,
    /**
     * `applyPatches` with `maxTextBytes`, large ones on a thread. Rejects with the reason of the signal, and if no thread
     * answers and the event loop would be blocked for long.
     */
    apply,
    /** `applyUnified` with `maxTextBytes`, a large one on a thread. Rejects as `apply` does. */
    applyUnified: applyUnifiedDiff,
    /** `editLines`, of a large text on a thread. Rejects as `apply` does. */
    edit,
    /**
     * The merge of both sides, or their conflicts; names no conflict if there was no time to find them. Rejects only with
     * the reason of the signal.
     */
    merge,
    /** Ends the threads; comparisons under way and later ones are answered coarsely. */
    close
  }
}

/** The answer of last resort, given on the event loop: one hunk between the common ends, if such a diff can be small enough. */
function compareCoarsely(task: ComparisonTask): Comparison {
  const isHopeless = task.base.length + task.current.length > 2 * task.maxDiffBytes
  if (isHopeless) return { diff: null, tooLarge: false, coarse: true }
  const comparison = compareTexts({ ...task, bound: noSearch })
  // A search might have found a smaller one.
  return { ...comparison, tooLarge: comparison.tooLarge && !comparison.coarse }
}
