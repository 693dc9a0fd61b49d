// What an isolated command has come to, on standard error: standard output is the command's.
import type { LayerApplyOutput } from '../../../schemas/layers.ts'
import type { Contention } from '../../../schemas/contention.ts'

export function tell(message: string): void {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
}

export function tellApplied(answer: LayerApplyOutput): void {
  const { status, message = '', files = [], ignored = 0, problems = [], contentions = [], failures = [] } = answer
  if (status !== 'ok') tell(message)
  for (const contention of contentions) tellContention(contention)
  for (const failure of failures) tell(failure.message)
  if (status !== 'ok') return
  const merged = files.filter((file) => file.merged === true).length
  const parts = [
    `${files.length} ${files.length === 1 ? 'file' : 'files'} changed`,
    ...(merged > 0 ? [`${merged} merged with changes of others`] : []),
    ...(ignored > 0 ? [`${ignored} ignored taken along`] : [])
  ]
  if (files.length + ignored > 0) tell(parts.join(', '))
  for (const problem of problems) tell(`left behind: ${problem}`)
}

function tellContention({ message, diff, modified_by, merge_conflicts = [] }: Contention): void {
  const agents = new Set(modified_by.map((one) => one.agent_id))
  tell(`${message}${agents.size > 0 ? ` Changed by ${[...agents].join(', ')}.` : ''}`)
  for (const { current, incoming } of merge_conflicts)
    process.stderr.write(
      `  lines ${current.start_line}-${current.end_line} of the current version, lines ${incoming.start_line}-${incoming.end_line} of the command's\n`
    )
  const unified = diff?.content
  if (unified !== undefined) process.stderr.write(unified.endsWith('\n') ? unified : `${unified}\n`)
}
