// Whether a merge of JSON texts is still JSON, and keeps what both sides said.
import { jsonFormOf, type JsonForm } from './json-form.ts'

/**
 * True if both sides are JSON and the merged text is not in a form as strict, or has a name more often in one object than
 * either side: readers would see only one of the values. The content decides, and not the name of the file: notebooks,
 * maps and manifests are JSON under many names.
 */
export function breaksJson(merged: string, current: string, incoming: string): boolean {
  const one = jsonFormOf(current)
  const other = one && jsonFormOf(incoming)
  if (one === undefined || other === undefined) return false
  const result = jsonFormOf(merged)
  return result === undefined || isLooser(result, one, other)
}

function isLooser({ liberty, surplus }: JsonForm, one: JsonForm, other: JsonForm): boolean {
  if (liberty > Math.max(one.liberty, other.liberty)) return true
  const isMore = ([name, count]: [string, number]) =>
    count > Math.max(one.surplus.get(name) ?? 0, other.surplus.get(name) ?? 0)
  return [...surplus].some(isMore)
}
