// Puts one entry of ours into another program's file, and removes it again; checks that every other value stays the same.
import { isDeepStrictEqual } from 'node:util'
import { applyEdit, type Data, type TextEdit } from './text-edit.ts'

/** One place in a file, and what we want there. */
export interface Target {
  readonly value: unknown
  /** @throws Error that says why the text cannot be read */
  parse(text: string): Data
  /** What is in our place; undefined for nothing. */
  current(data: Data): unknown
  /** Everything else: without our entry, and without the containers that are empty then. */
  others(data: Data): Data
  add(text: string): TextEdit
  replace(text: string): string
  remove(text: string): string
}

export interface Added {
  readonly text: string
  /** The inserted text, if removing exactly this gives the text as it was before; undefined if something was replaced. */
  readonly inserted: string | undefined
}

/**
 * @param inserted what an earlier call has inserted into this file
 * @throws Error for a text that cannot be read, or in which nothing can be changed without touching something else
 */
export function addEntry(text: string, target: Target, inserted?: string): Added {
  const data = target.parse(text)
  const current = target.current(data)
  if (isSame(current, target.value)) return { text, inserted }
  const before = current === undefined ? text : takeBack(text, target, inserted)
  const edit = before === undefined ? undefined : target.add(before)
  const result = before === undefined || edit === undefined ? target.replace(text) : applyEdit(before, edit)
  const after = target.parse(result)
  if (!isSame(target.current(after), target.value) || !isSame(target.others(after), target.others(data)))
    throw new Error('cannot be changed without touching something else: add the entry by hand (--print shows it)')
  return { text: result, inserted: edit?.length === 0 ? edit.content : undefined }
}

/** The text without our entry; byte for byte as before, as far as our insertion is unchanged. */
export function removeEntry(text: string, target: Target, inserted?: string): string {
  const data = target.parse(text)
  if (target.current(data) === undefined) return text
  const result = takeBack(text, target, inserted) ?? target.remove(text)
  const after = target.parse(result)
  if (target.current(after) !== undefined || !isSame(target.others(after), target.others(data)))
    throw new Error('cannot be changed without touching something else: remove the entry by hand')
  return result
}

/** Undefined unless the insertion is still there, once and whole. */
function takeBack(text: string, target: Target, inserted: string | undefined): string | undefined {
  if (inserted === undefined || inserted === '') return undefined
  const at = text.indexOf(inserted)
  if (at === -1 || text.includes(inserted, at + 1)) return undefined
  const result = text.slice(0, at) + text.slice(at + inserted.length)
  try {
    const after = target.parse(result)
    const isOurs =
      target.current(after) === undefined && isSame(target.others(after), target.others(target.parse(text)))
    return isOurs ? result : undefined
  } catch {
    return undefined
  }
}

/** Compares values: parsers make objects of different kinds. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toPlain(a), toPlain(b))
}

function toPlain(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
}
