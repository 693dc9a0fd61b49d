// Adds and removes one table of a TOML text and leaves every other byte as it is.
import { parse } from 'smol-toml'
import type { Data, TextEdit } from './text-edit.ts'

/** @throws Error that says where the text is not TOML */
export function parseToml(text: string): Data {
  try {
    return parse(text)
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new Error(`is not valid TOML: ${reason}`, { cause: error })
  }
}

/** Adds the table at the end, where it cannot become a subtable. */
export function appendTable(text: string, path: readonly string[], values: Data): TextEdit {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = [
    `[${path.map(toKey).join('.')}]`,
    ...Object.entries(values).map(([key, value]) => `${toKey(key)} = ${toTomlValue(value)}`)
  ]
  const gap = text === '' ? '' : text.endsWith('\n') ? lineEnd : lineEnd + lineEnd
  return { offset: text.length, length: 0, content: `${gap}${lines.join(lineEnd)}${lineEnd}` }
}

/**
 * The text without the lines of the table and its subtables, and without the blank line before them. Comments that
 * follow stay: they are about what comes next. The caller checks by parsing that only the table is gone.
 */
export function removeTable(text: string, path: readonly string[]): string {
  const lines = text.split(/(?<=\n)/)
  const name = path.map((key) => `(?:${escape(key)}|"${escape(key)}"|'${escape(key)}')`).join('\\s*\\.\\s*')
  const own = new RegExp(`^\\s*\\[\\s*${name}\\s*[.\\]]`)
  const kept: string[] = []
  for (let at = 0; at < lines.length;) {
    if (!own.test(lines[at] ?? '')) {
      kept.push(lines[at] as string)
      at += 1
      continue
    }
    let end = at + 1
    while (end < lines.length && !/^\s*\[/.test(lines[end] ?? '')) end += 1
    while (end > at + 1 && /^\s*(?:#.*)?\s*$/.test(lines[end - 1] ?? '')) end -= 1
    if (kept.at(-1)?.trim() === '') kept.pop()
    at = end
  }
  return kept.join('')
}

function escape(key: string): string {
  return key.replaceAll(/[^\w-]/g, String.raw`\$&`)
}

function toKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key)
}

/** Strings and lists of strings: a basic string of TOML reads JSON escapes the same way. */
function toTomlValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(toTomlValue).join(', ')}]` : JSON.stringify(value)
}
