// Reading the JSON of a harness, whose members may be anything.
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { StringPatch } from '../../../schemas/patches.ts'
import { toFields, type Fields } from '../../support/json-fields.ts'
import { quoteWord } from '../../support/shell/quote-word.ts'
import type { FileEdit, ShellCommand, ShownText } from './native-call.ts'

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

/** Absolute; tools take `~` for the home folder of their user, who is that of the server. @throws Error if the tool does not name its file */
export function requirePath(input: Fields, cwd: string, ...names: readonly string[]): string {
  return resolve(cwd, requireText(input, ...names).replace(/^~(?=\/|$)/, homedir))
}

/** Undefined if the tool names no command. @param folders the names under which it may say where the command runs */
export function toCommand(input: Fields, cwd: string, ...folders: readonly string[]): ShellCommand | undefined {
  const words = input['command'] ?? input['cmd']
  const command = Array.isArray(words) ? commandOfWords(words.map(String)) : words
  if (typeof command !== 'string' || command.trim() === '') return undefined
  return { command, cwd: resolve(cwd, textOf(input, ...folders) ?? '') }
}

/** A shell that is started for one line is not the command itself. */
function commandOfWords(words: readonly string[]): string {
  const [shell = '', flags = '', line] = words
  if (words.length === 3 && /(?:^|\/)(?:ba|z|da|k)?sh$/.test(shell) && /^-\w*c$/.test(flags)) return line ?? ''
  return words.map(quoteWord).join(' ')
}

/** An edit by text; an empty text to find creates or replaces the file. */
export function toEdit(path: string, oldText: string | undefined, newText: unknown, isEverywhere: boolean): FileEdit {
  const new_string = typeof newText === 'string' ? newText : ''
  if (oldText === undefined) return { path, content: new_string }
  const patch: StringPatch = { old_string: oldText, new_string, ...(isEverywhere && { replace_all: true }) }
  return { path, patches: [patch] }
}

/** Edits by text of one file, one after the other. */
export function toEditOfAll(path: string, edits: unknown): FileEdit {
  const all = (Array.isArray(edits) ? (edits as readonly unknown[]) : []).map((edit) => {
    const fields = toFields(edit)
    return toEdit(path, textOf(fields, 'old_string'), fields['new_string'], fields['replace_all'] === true)
  })
  const [first] = all
  if (first === undefined || all.length === 1) return first ?? { path }
  const patches = all.flatMap((one) => one.patches ?? [])
  return patches.length < all.length ? { path } : { path, patches }
}

/** Windows spells no path with a colon behind its drive, and neither do search results. */
const grepLine = /^((?:[A-Za-z]:)?[^:\n]+?)([:-])(\d+)\2(.*)$/

/** The lines in the output of a search in which each line names its file, unless only one was searched. */
export function toSearchedLines(output: string, cwd: string, onlyFile?: string): readonly ShownText[] {
  const runs = createRuns(cwd)
  for (const line of output.split('\n')) {
    const [, file, , number, text] =
      onlyFile === undefined
        ? (grepLine.exec(line) ?? [])
        : (/^()()(\d+)[:-](.*)$/.exec(line)?.map((part, index) => (index === 1 ? onlyFile : part)) ?? [])
    runs.add(file, number, text)
  }
  return runs.shown
}

/** The same, if the name of a file stands above its lines. @param file with the name as its group @param line with the number and the text */
export function toListedLines(output: string, folder: string, file: RegExp, line: RegExp): readonly ShownText[] {
  const runs = createRuns(folder)
  let name: string | undefined
  for (const part of output.split('\n')) {
    const [, number, text] = line.exec(part) ?? []
    if (number === undefined) name = file.exec(part)?.[1] ?? name
    else runs.add(name, number, text)
  }
  return runs.shown
}

/** Joins lines that follow each other in one file. */
function createRuns(folder: string) {
  const shown: { path: string; startLine: number; text: string }[] = []
  return {
    shown,
    add(file: string | undefined, number: string | undefined, text: string | undefined): void {
      if (file === undefined || number === undefined || text === undefined) return
      const path = resolve(folder, file)
      const last = shown.at(-1)
      const isNext = last?.path === path && last.startLine + last.text.split('\n').length === Number(number)
      if (isNext && last !== undefined) last.text += `\n${text}`
      else shown.push({ path, startLine: Number(number), text })
    }
  }
}

/** A line end at the end begins no other line. */
export function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
