// The table as text: rules as rows, ways as columns, and the reasons below it.

/** Of each rule, for each way: `ok`, or a reason. */
export type Results = Map<string, Map<string, string>>

export function printed(results: Results, names: readonly string[]): string[] {
  const reasons: string[] = []
  function mark(outcome: string): string {
    if (outcome === 'ok' || outcome === 'FAILED') return outcome
    if (!reasons.includes(outcome)) reasons.push(outcome)
    return String(reasons.indexOf(outcome) + 1)
  }
  const columns = [...names, 'MOVE']
  const rows = [...results].map(([title, row], index) => {
    const cells = names.map((name) => mark(row.get(name) ?? ''))
    return [String(index + 1), ...cells, mark('Files have no MOVE over HTTP: 405.'), title]
  })
  const heads = ['', ...columns.map((_name, index) => letterOf(index)), 'rule']
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => (row[at] ?? '').length)))
  const lines = [heads, ...rows].map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  )
  return [
    ...lines,
    ...columns.map((name, index) => `${letterOf(index)}: ${name}`),
    ...reasons.map((reason, index) => `${index + 1}: ${reason}`)
  ]
}

function letterOf(index: number): string {
  return String.fromCharCode('a'.charCodeAt(0) + index)
}
