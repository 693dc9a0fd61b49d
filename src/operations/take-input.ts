// Takes over a caller's input as a copy of plain data, refusing what no operation can want: lone surrogates, endless nesting.
import { OperationError } from '../errors.ts'

const maxDepth = 16
const maxElements = 200_000
const maxItems = 10_000
const maxKeys = 1000

/** @param at where it stands in the input of the call, such as `files[2]` @throws OperationError INVALID_REQUEST */
export function takeInput(input: unknown, at = ''): unknown {
  const budget = { left: maxElements }
  return copy(input, at, maxDepth, budget)
}

function copy(value: unknown, at: string, depth: number, budget: { left: number }): unknown {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value
    throw invalid(`${at || 'input'} has a lone surrogate, which is not valid text`)
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) throw invalid(`input is nested more than ${maxDepth} levels deep`)
  if (Array.isArray(value)) {
    if (value.length > maxItems) throw invalid(`${at || 'input'} has more than ${maxItems} items`)
    spend(budget, value.length)
    return value.map((item, index) => copy(item, `${at}[${index}]`, depth - 1, budget))
  }
  const keys = Object.keys(value)
  if (keys.length > maxKeys) throw invalid(`${at || 'input'} has more than ${maxKeys} parameters`)
  spend(budget, keys.length)
  const result: Record<string, unknown> = {}
  for (const key of keys) {
    // Assigning this key would set the prototype.
    if (key === '__proto__') throw invalid('unknown parameter "__proto__"')
    const name = at === '' ? key : `${at}.${key}`
    result[key] = copy((value as Record<string, unknown>)[key], name, depth - 1, budget)
  }
  return result
}

function spend(budget: { left: number }, count: number): void {
  budget.left -= count
  if (budget.left < 0) throw invalid(`input has more than ${maxElements} elements`)
}

function invalid(message: string): OperationError {
  return new OperationError('INVALID_REQUEST', `Invalid input: ${message}`, {
    details: { faults: [{ parameter: '', rule: '', message }] }
  })
}
