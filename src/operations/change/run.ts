// The one way to change a file: its locks, its plan, the judgement, the commit; outside the locks the answer to a change that came too late.
import type { Contention } from '../../../schemas/contention.ts'
import type { Committed } from '../../engine/commit/commits.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import { remember } from '../../support/remember.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { withLocks, type HeldLocks } from '../locking/with-locks.ts'
import { commitSteps } from './commit.ts'
import { answerContention, publishLate } from './contention.ts'
import { Plan } from './plan.ts'
import type { Judged, Planned, Planner } from './planner.ts'
import { answerMerged, withoutDiff, type Merged } from './stale-change.ts'

export interface OneChange<Done> {
  readonly operation: string
  /** Seconds. */
  readonly timeout: number | undefined
  readonly diffFormat?: DiffFormat | undefined
  readonly answer: (planned: Planned) => Done
  /** The answer, where the way in which a rename was made is part of it. */
  readonly finalAnswer?: (done: Done, outcome: Committed['outcome'], planned: Planned) => Promise<Done>
}

/** Makes one change. */
export async function changeOne<Done extends object>(
  context: OperationContext,
  planner: Planner,
  { operation, timeout, diffFormat, answer, finalAnswer }: OneChange<Done>
): Promise<Done | Contention> {
  const outcome = await withLocks(context, planner.targets, { operation, timeout }, async (places, lock) => {
    const plan = new Plan(context)
    const planned = await planOne(context, planner, places, plan, 0)
    if (isRefusal(planned)) return { refusal: planned }
    let done = remember(() => answer(planned))
    await commitPlan(context, plan, lock, {
      operation,
      answer: () => ({ ...done(), ...shortly(planned) }),
      ...(finalAnswer !== undefined && {
        async finalAnswer(way) {
          const final = await finalAnswer(done(), way, planned)
          done = () => final
          return final
        }
      })
    })
    planner.onMade?.(planned)
    return { done: done(), merged: planned.merged }
  })
  if ('refusal' in outcome) return answerContention(context, outcome.refusal, { ...planner, diffFormat })
  return answerMade(context, outcome.done, outcome.merged, diffFormat)
}

/** Under the locks. */
export async function planOne(
  context: OperationContext,
  { targets, plan: planIt }: Planner,
  places: readonly OpenEntry[],
  plan: Plan,
  index: number
): Promise<Judged> {
  for (const [at, place] of places.entries()) context.files.checkWritable(place, targets[at]!.path)
  return planIt(places, plan, index)
}

export function isRefusal(judged: Judged): judged is Exclude<Judged, Planned> {
  return 'stale' in judged
}

/** What a receipt holds of the answer beside what every change is answered. */
export function shortly({ merged }: Planned) {
  return merged === undefined ? {} : withoutDiff(merged)
}

type CommitOptions = Pick<Parameters<typeof commitSteps>[2], 'operation' | 'command' | 'answer' | 'finalAnswer'>

/** @throws OperationError what is in the way at a path */
export async function commitPlan(
  context: OperationContext,
  plan: Plan,
  lock: HeldLocks,
  options: CommitOptions
): Promise<void> {
  const steps = plan.steps()
  if (steps.length === 0) return
  await commitSteps(context, steps, {
    assertHeld: () => lock.assertHeld(),
    sightOf: ({ place }) => plan.at(place)?.sight,
    ...options
  })
}

/** Outside the locks. */
export async function answerMade<Done extends { readonly hash?: string | null }>(
  context: OperationContext,
  done: Done,
  merged: Merged | undefined,
  diffFormat: DiffFormat | undefined
): Promise<Done> {
  if (merged === undefined) return done
  publishLate(context, merged.stale, { merged: true })
  return answerMerged(context, done, merged, diffFormat)
}
