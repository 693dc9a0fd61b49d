// The changes of a transaction as their callers give them, each checked and planned as the operation of its kind does it, and its result.
import { AppendInput } from '../../../schemas/append.ts'
import { DeleteInput } from '../../../schemas/delete.ts'
import { RenameInput } from '../../../schemas/rename.ts'
import { inputObject, type Static, type TObject } from '../../../schemas/typebox.ts'
import type { ChangeResult, TransactionChange } from '../../../schemas/transaction.ts'
import { UpdateInput } from '../../../schemas/update.ts'
import { WriteInput } from '../../../schemas/write.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import { planAppend } from '../async-append.ts'
import { planDelete } from '../async-delete.ts'
import { planRename } from '../async-rename.ts'
import { planUpdate } from '../async-update.ts'
import { planWrite } from '../async-write.ts'
import { createRoom } from '../change/answer-room.ts'
import { outcomeOf } from '../change/plan.ts'
import type { Planned, Planner } from '../change/planner.ts'
import { previewDiff } from '../change/preview-diff.ts'
import { answerMade, shortly } from '../change/run.ts'
import { VersionTexts } from '../change/version-texts.ts'
import { createInputCheck } from '../definition/check-input.ts'

const ofCall: ReadonlySet<string> = new Set(['agent_id', 'request_id', 'change_set', 'timeout', 'diff_format'])

function kindOf<Input extends TObject>(
  kind: string,
  { properties }: Input,
  plan: (input: Static<Input>, context: OperationContext) => Planner
) {
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => !ofCall.has(name)))
  const check = createInputCheck('async_transaction', inputObject(own) as unknown as Input, kind)
  return (given: object, at: string, context: OperationContext) => plan(check(given, at), context)
}

const kinds = {
  update: kindOf('update', UpdateInput, planUpdate),
  write: kindOf('write', WriteInput, planWrite),
  append: kindOf('append', AppendInput, planAppend),
  delete: kindOf('delete', DeleteInput, planDelete),
  rename: kindOf('rename', RenameInput, planRename)
}

/** @throws OperationError INVALID_REQUEST */
export function plannersOf(
  changes: readonly TransactionChange[],
  onContention: string,
  context: OperationContext
): Planner[] {
  return changes.map(({ operation, ...change }, index) =>
    kinds[operation](namedFor(operation, change, onContention), `changes[${index}]`, context)
  )
}

function namedFor(
  kind: string,
  { path, new_path, ...change }: Omit<TransactionChange, 'operation'>,
  onContention: string
) {
  const moved = new_path === undefined ? {} : { new_path }
  if (kind === 'rename') return { old_path: path, ...moved, ...change }
  const isMerged = kind === 'update' || kind === 'append'
  return { path, ...moved, ...(isMerged && { on_contention: onContention }), ...change }
}

/** What a receipt holds of the results: no content of files. */
export function receiptOf(
  changes: readonly TransactionChange[],
  planned: readonly Planned[],
  context: OperationContext
): ChangeResult[] {
  return planned.map((one, index) => ({ ...resultOf(changes[index]!, one, context), ...shortly(one) }))
}

/** What the answer says of a change. */
function resultOf(
  { operation, path, new_path }: TransactionChange,
  { plan, source }: Planned,
  context: OperationContext
): ChangeResult {
  const { replaced, ...outcome } = outcomeOf(plan, context)
  return {
    operation,
    path,
    ...(new_path !== undefined && { new_path }),
    previous_hash: (source ?? plan).current?.hash ?? null,
    ...outcome,
    ...replaced
  }
}

/** Outside the locks, and without a signal: the changes are made, and must be reported. */
export async function answerAll(
  changes: readonly TransactionChange[],
  planned: readonly Planned[],
  diffFormat: DiffFormat | undefined,
  context: OperationContext
): Promise<ChangeResult[]> {
  const results: ChangeResult[] = []
  const roomy = context.withRoom(createRoom(context))
  for (const [index, one] of planned.entries())
    results.push(await answerMade(roomy, resultOf(changes[index]!, one, context), one.merged, diffFormat))
  return results
}

/** The same for changes that are only tried: each with what it would change. */
export async function previewAll(
  changes: readonly TransactionChange[],
  planned: readonly Planned[],
  diffFormat: DiffFormat | undefined,
  context: OperationContext
): Promise<ChangeResult[]> {
  const results: ChangeResult[] = []
  const room = createRoom(context)
  for (const [index, one] of planned.entries()) {
    const change = changes[index]!
    const { after, current } = one.plan
    const texts = new VersionTexts(change.encoding ?? context.config.crud.default_encoding, change.path)
    const base = texts.decodeIfText(current?.bytes)
    const next = after?.kind === 'bytes' ? texts.decodeIfText(after.bytes) : undefined
    const result = resultOf(change, one, context)
    if (base === undefined || next === undefined) results.push(result)
    else {
      const diff = await previewDiff(context, base, next, diffFormat)
      results.push({
        ...result,
        diff: room(diff) ? diff : null,
        ...(one.merged !== undefined && { merged: true as const })
      })
    }
  }
  return results
}
