// The output of commands: colours on terminals only, tables, readable changes.
import { styleText } from 'node:util'
import { asCalled } from '../../support/as-called.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours if a terminal shows them and the user has not switched them off (no-color.org). */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const { NO_COLOR: off, TERM: terminal } = process.env
  const isColourful = stream.isTTY && (off === undefined || off === '') && terminal !== 'dumb'
  return isColourful ? styleText(style, text, { validateStream: false }) : text
}

export function print(line: string): void {
  process.stdout.write(`${asCalled(line)}\n`)
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`)
}

/** Columns as wide as their widest cell. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}
