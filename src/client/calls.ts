// The input and answer types of each operation, derived from the contract.
import type { CallerInput } from '../../schemas/caller-input.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { contract, OperationName } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'

type Contract = typeof contract

/** The input of an operation: a property with a default may be left out, at every depth. */
export type CallInput<Name extends OperationName> = Name extends OperationName
  ? CallerInput<Contract[Name]['input']>
  : never

/** A read of a whole file or of lines: whatever its size, the file is read whole for it. */
export type LinesInput = CallInput<'async_read'> & { readonly byte_offset?: never; readonly byte_limit?: never }
export type LinesAnswer = CallAnswer<'async_read'> & { readonly hash: string; readonly total_lines: number }

/**
 * The answer of a successful call. If the operation can come too late, `status` is "ok" or "contention", which tells
 * the two apart.
 */
export type CallAnswer<Name extends OperationName> = Name extends OperationName
  ? Static<Contract[Name]['output']> | (Contract[Name]['contends'] extends true ? Contention : never)
  : never
