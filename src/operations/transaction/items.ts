// The changes of a transaction as their callers give them: each checked as the operation of its kind checks it.
import { AppendInput } from '../../../schemas/append.ts'
import { DeleteInput } from '../../../schemas/delete.ts'
import { RenameInput } from '../../../schemas/rename.ts'
import { inputObject, type Static, type TObject } from '../../../schemas/typebox.ts'
import type { TransactionChange } from '../../../schemas/transaction.ts'
import { UpdateInput } from '../../../schemas/update.ts'
import { WriteInput } from '../../../schemas/write.ts'
import { OperationError } from '../../errors.ts'
import { createInputCheck } from '../definition/check-input.ts'
import type { Target } from '../locking/with-locks.ts'

type Of<Input extends TObject> = Omit<
  Static<Input>,
  'agent_id' | 'request_id' | 'change_set' | 'timeout' | 'diff_format'
>

/** One change, and its place in the list of the call. */
export type Item = { readonly index: number } & (
  | { readonly kind: 'update'; readonly input: Of<typeof UpdateInput> }
  | { readonly kind: 'write'; readonly input: Of<typeof WriteInput> }
  | { readonly kind: 'append'; readonly input: Of<typeof AppendInput> }
  | { readonly kind: 'delete'; readonly input: Of<typeof DeleteInput> }
  | { readonly kind: 'rename'; readonly input: Of<typeof RenameInput> }
)

const ofCall: ReadonlySet<string> = new Set(['agent_id', 'request_id', 'change_set', 'timeout', 'diff_format'])

function checkOf<Input extends TObject>(kind: string, { properties }: Input) {
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => !ofCall.has(name)))
  return createInputCheck('async_transaction', inputObject(own) as unknown as Input, kind)
}

const checks = {
  update: checkOf('update', UpdateInput),
  write: checkOf('write', WriteInput),
  append: checkOf('append', AppendInput),
  delete: checkOf('delete', DeleteInput),
  rename: checkOf('rename', RenameInput)
}

/** @throws OperationError INVALID_REQUEST */
export function toItems(changes: readonly TransactionChange[], onContention: string): Item[] {
  return changes.map(({ operation, ...change }, index) => {
    const at = `changes[${index}]`
    const kind = operation
    return { index, kind, input: checks[kind](namedFor(kind, change, onContention), at) } as Item
  })
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

/** As the caller spelt it. */
export function pathOf({ input }: Item): string {
  return 'old_path' in input ? input.old_path : input.path
}

/** One file of each change, and a second one of a rename. */
export function targetsOf(item: Item): Target[] {
  const { kind, input } = item
  const reach = kind === 'delete' || kind === 'rename' ? 'entry' : 'target'
  const first: Target = { path: pathOf(item), mode: 'exclusive', reach, fencingToken: input.fencing_token }
  return kind === 'rename' ? [first, { path: input.new_path, mode: 'exclusive', reach: 'entry' }] : [first]
}

/** For a message: the second change that cannot be made beside the first. */
export function clash(path: string, indices: readonly number[], why: string): OperationError {
  const [first, second] = indices
  const message = `changes[${first}] and changes[${second}] are both about ${path}: ${why} Nothing was changed. Make one change of the two, or send two calls.`
  return new OperationError('INVALID_REQUEST', message, { path, details: { changes: indices } })
}
