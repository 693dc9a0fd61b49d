// Tables as Markdown, so that the pages of docs/ can show what is printed.

export type Row = readonly string[]

export interface Table {
  readonly title: string
  /** Markdown, without the title. */
  readonly text: string
}

const printed: Table[] = []

/** The tables printed since this was last asked. */
export const takeTables = (): Table[] => printed.splice(0)

export function printTable(title: string, head: Row, rows: readonly Row[]): void {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (cells: Row) => `| ${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  const text = [line(head), rule, ...rows.map(line)].join('\n')
  printed.push({ title, text })
  console.log(`\n### ${title}\n\n${text}`)
}

/** The first column is a name, all others are numbers. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width)
}

/** Three significant digits, thousands apart: "12,300", "4.56", "0.0123". */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  const rounded = value >= 1000 ? Number(value.toPrecision(3)) : value
  return rounded.toLocaleString('en-US', {
    minimumFractionDigits: Math.min(digits, 4),
    maximumFractionDigits: Math.min(digits, 4)
  })
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function percent(ratio: number): string {
  return Number.isFinite(ratio) ? `${figure(ratio * 100)} %` : '-'
}
