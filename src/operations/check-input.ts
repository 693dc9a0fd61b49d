// Checks an input against its schema: closed, nothing coerced, nothing stripped, every fault at once.
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import type { Static, TObject } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import { describeFaults } from './faults.ts'
import { leaveOutNulls, type JsonSchema } from './left-out.ts'
import { sampleOf } from './take-input.ts'

/** Defaults are filled into the copy that takeInput made; nothing is coerced or stripped. */
const options: Options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  // The schemas are ours and known to hold; to compile the schema of schemas would cost the first call more than all else.
  meta: false,
  validateSchema: false,
  formats: { 'date-time': true }
}
/** Ends at the first fault: an input of 100,000 faults costs no more than one of a single one. */
export const ajv = new Ajv(options)
const thoroughAjv = new Ajv({ ...options, allErrors: true })

/**
 * @param taken a copy made by takeInput
 * @param at where it stands in the input of the call, such as `files[2]`
 * @throws OperationError INVALID_REQUEST
 */
export type InputCheck<Value> = (taken: unknown, at?: string) => Value

/** @param name of the operation, for messages */
export function createInputCheck<Input extends TObject>(name: string, schema: Input): InputCheck<Static<Input>> {
  let check: ValidateFunction<Static<Input>> | undefined
  let findFaults: ValidateFunction | undefined
  return (taken, at = '') => {
    // Compiled at the first call: a start of the server does not pay for operations that no client uses.
    check ??= ajv.compile<Static<Input>>(schema)
    if (check(taken)) return taken
    // A null that counts as left out is always a fault at first.
    if (leaveOutNulls(taken, schema as JsonSchema) && check(taken)) return taken
    findFaults ??= thoroughAjv.compile(schema)
    // A fault that the sample does not have is the one at which the check has ended.
    const errors = findFaults(sampleOf(taken)) ? check.errors : findFaults.errors
    const faults = describeFaults(errors ?? [], Object.keys(schema.properties), at)
    const message = `Invalid input for ${name}: ${faults.map((fault) => fault.message).join('; ')}`
    throw new OperationError('INVALID_REQUEST', message, { details: { faults } })
  }
}
