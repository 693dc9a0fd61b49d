// The input and answer types of each operation, derived from the contract.
import type { CallerInput } from '../../schemas/caller-input.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { contract, OperationName } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'

type Contract = typeof contract

type Input<Name extends OperationName> = CallerInput<Contract[Name]['input']>
type Output<Name extends OperationName> = Static<Contract[Name]['output']>

/** The input of `readPart`. */
export type PartInput = Input<'async_read'>
/** A part of a file by bytes. Of a file that is too large to be read whole the hash is not known. */
export type Part = Output<'async_read'>

/** The input of an operation: a property with a default may be left out, at every depth. */
export type CallInput<Name extends OperationName> = Name extends 'async_read'
  ? Omit<PartInput, 'byte_offset' | 'byte_limit'>
  : Name extends OperationName
    ? Input<Name>
    : never

/**
 * The answer of a successful call. If the operation can come too late, `status` is "ok" or "contention", which tells
 * the two apart.
 */
export type CallAnswer<Name extends OperationName> = Name extends 'async_read'
  ? Part & { readonly hash: string; readonly total_lines: number }
  : Name extends OperationName
    ? Output<Name> | (Contract[Name]['contends'] extends true ? Contention : never)
    : never
