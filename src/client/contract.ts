// The contract as the types of the client have it: what a caller passes to each operation, and what it answers.
// In an installation the declarations of this file are those that scripts/client-types.ts has written, which import nothing.
import type { CallerInput } from '../../schemas/caller-input.ts'
import type { contract, OperationName } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'

export type { Contention } from '../../schemas/contention.ts'
export type { OperationName } from '../../schemas/contract.ts'
export type { ErrorCode } from '../../schemas/errors.ts'

type Contract = typeof contract

/** A property with a default may be left out, at every depth. */
export type Inputs = { [Name in OperationName]: CallerInput<Contract[Name]['input']> }

/** The answers of successful calls. */
export type Outputs = { [Name in OperationName]: Static<Contract[Name]['output']> }

/** The operations that can also answer `contention`. */
export type ContendingName = {
  [Name in OperationName]: Contract[Name]['contends'] extends true ? Name : never
}[OperationName]
