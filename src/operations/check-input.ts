// Checks an input against its schema: closed, nothing coerced, nothing stripped, every fault at once.
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static, TObject } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import { describeFaults } from './faults.ts'
import { leaveOutNulls, type JsonSchema } from './left-out.ts'

/** Defaults are filled into the copy that takeInput made; nothing is coerced or stripped. */
export const ajv = new Ajv({
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  formats: { 'date-time': true }
})

/**
 * @param taken a copy made by takeInput
 * @param at where it stands in the input of the call, such as `files[2]`
 * @throws OperationError INVALID_REQUEST
 */
export type InputCheck<Value> = (taken: unknown, at?: string) => Value

/** @param name of the operation, for messages */
export function createInputCheck<Input extends TObject>(name: string, schema: Input): InputCheck<Static<Input>> {
  let check: ValidateFunction<Static<Input>> | undefined
  return (taken, at = '') => {
    // Compiled at the first call: a start of the server does not pay for operations that no client uses.
    check ??= ajv.compile<Static<Input>>(schema)
    if (check(taken)) return taken
    // A null that counts as left out is always a fault at first.
    if (leaveOutNulls(taken, schema as JsonSchema) && check(taken)) return taken
    const faults = describeFaults(check.errors ?? [], Object.keys(schema.properties), at)
    const message = `Invalid input for ${name}: ${faults.map((fault) => fault.message).join('; ')}`
    throw new OperationError('INVALID_REQUEST', message, { details: { faults } })
  }
}
