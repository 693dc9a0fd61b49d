// Reading the JSON of a harness, whose members may be anything.
import { resolve } from 'node:path'
import type { StringPatch } from '../../../schemas/patches.ts'
import type { Fields, FileEdit } from './native-call.ts'

export function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function textOf(fields: Fields, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

export function integerOf(fields: Fields, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = fields[name]
    if (Number.isSafeInteger(value)) return value as number
  }
  return undefined
}

/** @throws Error if there is none */
export function requireText(fields: Fields, ...names: readonly string[]): string {
  const text = textOf(fields, ...names)
  if (text !== undefined) return text
  throw new Error(`the hook input has no ${names.join(' or ')}`)
}

/** Absolute. @throws Error if the tool does not name its file */
export function requirePath(input: Fields, cwd: string, ...names: readonly string[]): string {
  return resolve(cwd, requireText(input, ...names))
}

/** An edit by text; an empty text to find creates or replaces the file. */
export function toEdit(path: string, oldText: string | undefined, newText: unknown, isEverywhere: boolean): FileEdit {
  const new_string = typeof newText === 'string' ? newText : ''
  if (oldText === undefined) return { path, content: new_string }
  const patch: StringPatch = { old_string: oldText, new_string, ...(isEverywhere && { replace_all: true }) }
  return { path, patches: [patch] }
}

/** Windows spells no path with a colon behind its drive, and neither do search results. */
const grepLine = /^((?:[A-Za-z]:)?[^:\n]+?)([:-])(\d+)\2(.*)$/

/** The lines in the output of a search, grouped by file into runs of consecutive lines. */
export function toSearchedLines(output: string, cwd: string, onlyFile?: string) {
  const shown: { path: string; startLine: number; text: string }[] = []
  for (const line of output.split('\n')) {
    const [, file, , number, text] =
      onlyFile === undefined
        ? (grepLine.exec(line) ?? [])
        : (/^()()(\d+)[:-](.*)$/.exec(line)?.map((part, index) => (index === 1 ? onlyFile : part)) ?? [])
    if (file === undefined || number === undefined || text === undefined) continue
    const path = resolve(cwd, file)
    const last = shown.at(-1)
    const isNext = last?.path === path && last.startLine + last.text.split('\n').length === Number(number)
    if (isNext && last !== undefined) last.text += `\n${text}`
    else shown.push({ path, startLine: Number(number), text })
  }
  return shown
}

/** A line end at the end begins no other line. */
export function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
