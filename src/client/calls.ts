// The input and answer types of each operation, derived from the contract.
import type { Contention, ContendingName, Inputs, OperationName, Outputs } from './contract.ts'

/** The input of `readPart`. */
export type PartInput = Inputs['async_read']
/** A part of a file by bytes. Of a file that is too large to be read whole the hash is not known. */
export type Part = Outputs['async_read']

/** The input of an operation: a property with a default may be left out, at every depth. */
export type CallInput<Name extends OperationName> = Name extends 'async_read'
  ? Omit<PartInput, 'byte_offset' | 'byte_limit'>
  : Name extends OperationName
    ? Inputs[Name]
    : never

/**
 * The answer of a successful call. If the operation can come too late, `status` is "ok" or "contention", which tells
 * the two apart.
 */
export type CallAnswer<Name extends OperationName> = Name extends 'async_read'
  ? Part & { readonly hash: string; readonly total_lines: number }
  : Name extends OperationName
    ? Outputs[Name] | (Name extends ContendingName ? Contention : never)
    : never
