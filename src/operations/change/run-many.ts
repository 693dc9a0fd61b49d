// Makes several changes, all or none: locks all files, judges all changes, tells every refusal at once, and commits.
import { OperationError, toOperationError } from '../../errors.ts'
import type { Contention } from '../../../schemas/contention.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { StaleFileError } from '../../engine/commit/preconditions.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { explainGone } from '../locking/gone-file.ts'
import { withLocks, type HeldLocks } from '../locking/with-locks.ts'
import { createRoom } from './answer-room.ts'
import { answerContention } from './contention.ts'
import { Plan, transactionLimits, type PlanLimits } from './plan.ts'
import type { Judged, Planned, Planner } from './planner.ts'
import { commitPlan, isRefusal, planOne } from './run.ts'

export interface ManyChanges {
  readonly operation: string
  /** See `Author.command`. */
  readonly command?: string
  readonly timeout: number | undefined
  readonly diffFormat: DiffFormat | undefined
  /** True if nothing is to be changed. */
  readonly isDryRun: boolean
  /** Default: those of transactions. */
  readonly limits?: PlanLimits
  /** Of the whole call: what a repeat of it gets. */
  readonly answer: (planned: readonly Planned[]) => object
}

/** Of each change: what it was judged, or why it cannot be made. */
type Verdicts = readonly (Judged | OperationError)[]

export type ManyMade =
  | { readonly planned: readonly Planned[] }
  /** Nothing was changed. One of the two is not empty. By the index of the change. */
  | { readonly contentions: ReadonlyMap<number, Contention>; readonly failures: ReadonlyMap<number, OperationError> }

/** @throws OperationError if the whole call fails; nothing was changed then, or the error says that it was */
export async function changeMany(
  context: OperationContext,
  planners: readonly Planner[],
  options: ManyChanges
): Promise<ManyMade> {
  const { operation, timeout } = options
  const targets = planners.flatMap((planner) => planner.targets)
  const verdicts = await withLocks(context, targets, { operation, timeout }, (places, lock) =>
    carryOut(context, planners, places, lock, options)
  )
  if (verdicts.every(isPlanned)) return { planned: verdicts }
  return refuse(context, planners, verdicts, options)
}

async function carryOut(
  context: OperationContext,
  planners: readonly Planner[],
  places: readonly OpenEntry[],
  lock: HeldLocks,
  { operation, command, isDryRun, limits = transactionLimits(context.config.crud), answer }: ManyChanges
): Promise<Verdicts> {
  const plan = new Plan(context, limits)
  const verdicts = await planAll(context, planners, places, plan)
  // What is in the way of the others is said at once, too.
  if (!verdicts.every(isPlanned))
    return verdicts.map((verdict) => (isPlanned(verdict) ? (plan.refusalOf(verdict.plan) ?? verdict) : verdict))
  if (isDryRun) plan.steps()
  else await commitPlan(context, plan, lock, { operation, command, answer: () => answer(verdicts) })
  return verdicts
}

async function planAll(
  context: OperationContext,
  planners: readonly Planner[],
  places: readonly OpenEntry[],
  plan: Plan
): Promise<Verdicts> {
  const verdicts: (Judged | OperationError)[] = []
  let at = 0
  for (const [index, planner] of planners.entries()) {
    const { targets, operation } = planner
    const own = places.slice(at, at + targets.length)
    try {
      verdicts.push(await planOne(context, planner, own, plan, index))
    } catch (error) {
      if (error instanceof StaleFileError || context.signal.aborted) throw error
      verdicts.push(toOperationError(explainGone(error, own[0]?.path, operation, context), targets[0]?.path))
    }
    at += targets.length
  }
  return verdicts
}

function isPlanned(verdict: Judged | OperationError): verdict is Planned {
  return !(verdict instanceof OperationError) && !isRefusal(verdict)
}

async function refuse(
  context: OperationContext,
  planners: readonly Planner[],
  verdicts: Verdicts,
  { diffFormat }: ManyChanges
) {
  const contentions = new Map<number, Contention>()
  const failures = new Map<number, OperationError>()
  const roomy = context.withRoom(createRoom(context))
  for (const [index, verdict] of verdicts.entries()) {
    if (verdict instanceof OperationError) failures.set(index, verdict)
    else if (isRefusal(verdict))
      contentions.set(index, await answerContention(roomy, verdict, { ...planners[index]!, diffFormat }))
  }
  return { contentions, failures }
}
