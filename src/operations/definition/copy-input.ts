// Copies a caller's input as plain data, and refuses what no operation can want: lone surrogates, endless nesting.
import { OperationError } from '../../errors.ts'

/** More than any operation takes; an input beyond it is refused before the copy grows larger. */
export const maxElements = 200_000
const maxDepth = 16
const maxItems = 10_000
// No operation has half as many parameters.
const maxKeys = 100

/** @param at where it is in the input of the call, such as `files[2]` @throws OperationError INVALID_REQUEST */
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
    if (!key.isWellFormed()) throw invalid(`a parameter of ${at || 'input'} has a lone surrogate in its name`)
    // Assigning this key would set the prototype.
    if (key === '__proto__') throw invalid('unknown parameter "__proto__"')
    const name = at === '' ? key : `${at}.${key}`
    result[key] = copy((value as Record<string, unknown>)[key], name, depth - 1, budget)
  }
  return result
}

/** More than the listed faults. Lists within lists have fewer, since each item of the outer one has them. */
const maxSampleItems = 60
const maxInnerItems = 10
const maxSampleEnd = 5_000

/** The ends of long parts of an input: enough to name faults, in a time that does not grow with it. */
export function sampleOf(value: unknown, items = maxSampleItems): unknown {
  if (typeof value === 'string') {
    return value.length <= 2 * maxSampleEnd ? value : value.slice(0, maxSampleEnd) + value.slice(-maxSampleEnd)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.slice(0, items).map((item) => sampleOf(item, maxInnerItems))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, sampleOf(item, items)]))
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
