import type { ValidateFunction } from 'ajv'

interface CompiledValidator {
  readonly check: () => ValidateFunction
  readonly findFaults: () => ValidateFunction
}

/** By name. Empty here: a build replaces this file with one that has the code of each (scripts/compile-validators.mjs). */
export const compiledValidators: Readonly<Record<string, CompiledValidator>> = {}
