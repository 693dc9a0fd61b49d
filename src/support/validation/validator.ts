// Checks values against schemas, by functions that Ajv compiled when the program was built: to compile them takes a fifth of a start.
import type { ErrorObject, ValidateFunction } from 'ajv'
import { loadPiece } from '../pieces.ts'

/** The schemas that a build compiles, by name: scripts/compile-validators.mjs. */
export const validatedSchemas = new Map<string, object>()

export class Validator<Value> {
  readonly #name: string
  #check: ValidateFunction<Value> | undefined
  #findFaults: ValidateFunction | undefined

  /** @param name by which a build finds the schema: unique */
  constructor(name: string, schema: object) {
    this.#name = name
    validatedSchemas.set(name, schema)
  }

  /** Fills in defaults; coerces and strips nothing. Ends at the first fault: 100,000 of them cost no more than one. */
  accepts(value: unknown): value is Value {
    this.#check ??= loadCompiled('checks', this.#name) as ValidateFunction<Value>
    return this.#check(value)
  }

  /** The fault for which `accepts` refused the last value. */
  get firstFaults(): readonly ErrorObject[] {
    return this.#check?.errors ?? []
  }

  /** Every fault of a value, after its defaults have been filled in. */
  findFaults(value: unknown): readonly ErrorObject[] {
    this.#findFaults ??= loadCompiled('faults', this.#name)
    return this.#findFaults(value) ? [] : (this.#findFaults.errors ?? [])
  }
}

function loadCompiled(piece: 'checks' | 'faults', name: string): ValidateFunction {
  const { compiled } = loadPiece(piece) as { compiled: Record<string, () => ValidateFunction> }
  const compile = compiled[name]
  if (compile === undefined) throw new Error(`no validator of ${name} has been built: run npm run build`)
  return compile()
}
