// Checks an input against its schema: closed, nothing coerced, nothing stripped, every fault at once.
import type { Static, TObject } from '../../../schemas/typebox.ts'
import { OperationError } from '../../errors.ts'
import { Validator } from '../../support/validation/validator.ts'
import { describeFaults } from './input-faults.ts'
import { toFullForm } from './full-form.ts'
import type { JsonSchema } from './json-text.ts'
import { sampleOf } from './copy-input.ts'

/**
 * @param taken a copy made by takeInput
 * @param at where it is in the input of the call, such as `files[2]`
 * @throws OperationError INVALID_REQUEST
 */
export type InputCheck<Value> = (taken: unknown, at?: string) => Value

/**
 * @param name of the operation, for messages
 * @param part of its input that the schema is for, if it is not the whole
 */
export function createInputCheck<Input extends TObject>(
  name: string,
  schema: Input,
  part?: string
): InputCheck<Static<Input>> {
  const validator = new Validator<Static<Input>>(part === undefined ? name : `${name} ${part}`, schema)
  return (taken, at = '') => {
    if (validator.accepts(taken)) return taken
    // What has another form is a fault at first: an input in its full form costs one check.
    const full = toFullForm(taken, schema as JsonSchema, at)
    if (full !== undefined && validator.accepts(full)) return full
    const errors = validator.findFaults(sampleOf(full ?? taken))
    // A fault that the sample lacks is the one at which the check ended.
    const shown = errors.length > 0 ? errors : validator.firstFaults
    const faults = describeFaults(shown, Object.keys(schema.properties), at)
    const message = `Invalid input for ${name}: ${faults.map((fault) => fault.message).join('; ')}`
    throw new OperationError('INVALID_REQUEST', message, { details: { faults } })
  }
}
