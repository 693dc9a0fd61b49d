// The differ: compares two texts, small ones at once, large ones on a thread of its pool, always within a bound.
import { availableParallelism } from 'node:os'
import type { Patch } from '../../schemas/contention.ts'
import { compareTexts, toTask, type Comparison, type ComparisonTask, type DiffFormat } from './compare.ts'
import { judgePatches, type JudgeTask, type PatchJudgement } from './judge.ts'
import { OperationError } from '../errors.ts'
import { mergeTexts, type MergeResult, type MergeTask } from './merge.ts'
import { applyPatches, type ApplyResult } from './patches.ts'
import { createPool } from './pool.ts'
import type { Jobs } from './worker.ts'

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
  /** Told why a comparison was done coarsely here instead of on a thread. */
  readonly onFallback?: (reason: unknown) => void
}

export interface CompareInput {
  readonly base: string
  readonly current: string
  readonly format: DiffFormat
  /** The patches of the late update, if it has any. */
  readonly patches?: readonly Patch[] | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ApplyInput {
  readonly text: string
  readonly patches: readonly Patch[]
  readonly signal?: AbortSignal | undefined
}

export interface MergeInput extends Pick<MergeTask, 'base' | 'current' | 'incoming' | 'isJson'> {
  readonly signal?: AbortSignal | undefined
}

export interface Differ {
  /** The difference base -> current, and whether the patches still do. Rejects only with the reason of the signal. */
  readonly compare: (input: CompareInput) => Promise<Comparison & { readonly judgement?: PatchJudgement }>
  /**
   * `applyPatches` with `maxTextBytes`, large ones on a thread. Rejects with the reason of the signal, and where no thread
   * answers and the event loop would be blocked for long.
   */
  readonly apply: (input: ApplyInput) => Promise<ApplyResult>
  /**
   * What both sides have made of the base, or where they collide; without any conflict named where there was no time to
   * find out. Rejects only with the reason of the signal.
   */
  readonly merge: (input: MergeInput) => Promise<MergeResult>
  /** Ends the threads; comparisons under way and later ones are answered coarsely. */
  readonly close: () => Promise<void>
}

// Measured: the search for this many lines takes 1 to 5 ms, whatever the texts. What needs more is better off on a thread.
const inlineEditLength = 100
const inlineMs = 10
// Measured: to judge one patch takes up to a fifth of the time that comparing the texts takes.
const patchShare = 0.2
// Applying patches on the event loop: about 1 ms for this many characters times patches.
const maxInlineApply = 1024 * 1024
// As a last resort; beyond it everybody else would wait too long.
const maxFallbackApply = 32 * maxInlineApply
// Merging as a last resort: 10 ms for a million characters, one hunk a side.
const maxFallbackMerge = 4 * 1024 * 1024
// What a job may take beyond its own bound: its linear part, the start of a thread, the wait for a turn.
const patienceMs = 5_000
const noSearch = { maxEditLength: 0, timeoutMs: 0 }
const undecided: MergeResult = { conflicts: [], further: 0, hasContents: false, coarse: true }
// For judging patches here, as a last resort: those that can be judged by then.
const fallbackMs = 20

export function createDiffer(options: DifferOptions = {}): Differ {
  const { contextLines = 3, maxEditLength = 2_000, timeoutMs = 1_000, inlineMaxBytes = 64 * 1024 } = options
  const { maxDiffBytes = 256 * 1024, maxTextBytes = Infinity, onFallback = () => {} } = options
  const { maxWorkers = Math.min(Math.max(availableParallelism() - 1, 1), 4) } = options
  const pool = createPool({ maxThreads: maxWorkers, patienceMs: timeoutMs + patienceMs, onError: onFallback })
  const inlineBound = {
    maxEditLength: Math.min(maxEditLength, inlineEditLength),
    timeoutMs: inlineMs,
    minimalOnly: true
  }

  async function compare({ base, current, format, patches, signal }: CompareInput) {
    signal?.throwIfAborted()
    const bound = { maxEditLength, timeoutMs }
    const task = toTask(base, current, { format, contextLines, maxDiffBytes, bound })
    if (patches === undefined) return await createDiff(task, signal)
    const judgeTask = { base, current, patches, contextLines, maxBytes: maxTextBytes, timeoutMs }
    const [comparison, judgement] = await Promise.all([createDiff(task, signal), judge(judgeTask, signal)])
    return { ...comparison, judgement }
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
    const work = (task.base.length + task.current.length) * task.patches.length * patchShare
    if (work <= 2 * inlineMaxBytes) return judgePatches(task)
    return await onThread('judge', task, () => judgePatches({ ...task, timeoutMs: fallbackMs }), signal)
  }

  async function apply({ text, patches, signal }: ApplyInput): Promise<ApplyResult> {
    signal?.throwIfAborted()
    const work = text.length * patches.length
    const here = () => applyPatches(text, patches, maxTextBytes)
    if (work <= maxInlineApply) return here()
    const fallback = () => {
      if (work > maxFallbackApply) throw tooMuchWork()
      return here()
    }
    return await onThread('apply', { text, patches, maxBytes: maxTextBytes }, fallback, signal)
  }

  async function merge({ signal, ...texts }: MergeInput): Promise<MergeResult> {
    signal?.throwIfAborted()
    const size = texts.base.length + texts.current.length + texts.incoming.length
    const task = { ...texts, maxConflictBytes: maxDiffBytes, bound: { maxEditLength, timeoutMs } }
    if (size <= 2 * inlineMaxBytes) {
      // It compares four times.
      const result = mergeTexts({ ...task, bound: { ...inlineBound, timeoutMs: 4 * inlineMs } })
      if (!result.coarse) return result
    }
    const fallback = () => (size > maxFallbackMerge ? undecided : mergeTexts({ ...task, bound: noSearch }))
    return await onThread('merge', task, fallback, signal)
  }

  /** Where no thread has the answer, `fallback` gives one. */
  async function onThread<Name extends keyof Jobs>(
    name: Name,
    task: Jobs[Name]['task'],
    fallback: () => Jobs[Name]['result'],
    signal: AbortSignal | undefined
  ): Promise<Jobs[Name]['result']> {
    try {
      return await pool.run(name, task, signal)
    } catch (error) {
      signal?.throwIfAborted()
      onFallback(error)
      return fallback()
    }
  }

  return { compare, apply, merge, close: pool.close }
}

/** The answer of last resort, given on the event loop: one hunk between the common ends, if such a diff can be small enough. */
function compareCoarsely(task: ComparisonTask): Comparison {
  const isHopeless = task.base.length + task.current.length > 2 * task.maxDiffBytes
  if (isHopeless) return { diff: null, tooLarge: true, coarse: true }
  return compareTexts({ ...task, bound: noSearch })
}

/** Either no thread is free, or the patches take longer than any caller should hold the file for. */
function tooMuchWork(): OperationError {
  const message =
    'So many patches for so large a text take longer than the server allows, or it is too busy now. Nothing was changed. Send fewer patches at once, or the whole content.'
  return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: 1 } })
}
