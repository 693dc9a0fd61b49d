// What the command line says of a landing, to people and as JSON.
import type { LandDependence, LandForgotten, LandOutput, LandPrepareOutput } from '../../../schemas/land.ts'
import { print } from '../cli/output.ts'
import type { LandResult } from './land-once.ts'

type Landed = Extract<LandResult, { kind: 'landed' }>

export function printLanded({ commit, branch }: Landed, { files }: LandPrepareOutput): void {
  const where = branch === null ? 'a detached HEAD' : branch
  print(`${commit.slice(0, 12)} on ${where}: ${files.length} ${files.length === 1 ? 'file' : 'files'}`)
  for (const { name, content } of files) print(`  ${content === null ? 'removed ' : ''}${name}`)
}

/** As the operation land answers; `failed`: its test or Git has failed. */
export function toOutcome(
  { files, dependent, taken_along, uncertain, forgotten, left_out, refused, unreachable }: LandPrepareOutput,
  result: Landed | { readonly status: LandOutput['status'] | 'failed'; readonly message: string }
): object {
  const made = 'status' in result ? result : { status: 'ok', commit: result.commit, branch: result.branch }
  const paths = files.map(({ name }) => name)
  return { ...made, paths, dependent, taken_along, uncertain, forgotten, left_out, refused, unreachable }
}

/** One line for each reason for which changes are not taken, and for each range of lines whose maker is forgotten. */
export function describeLeft({ uncertain, forgotten, refused, unreachable }: LandPrepareOutput): string[] {
  const notTaken = (why: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`not taken, since ${why} ${names.join(', ')}`]
  return [
    ...notTaken('another may have made it (--include-uncertain takes it): changes in', uncertain),
    ...forgotten.map((range) => `not taken: ${describeForgotten(range)}`),
    ...notTaken('Git takes no such name into a commit (rename the file):', refused),
    ...notTaken('the name is not UTF-8 (commit it with Git):', unreachable)
  ]
}

export function explain(prepared: LandPrepareOutput): string {
  const { message = 'nothing was landed', dependent, forgotten } = prepared
  return [message, ...dependent.map(describe), ...forgotten.map(describeForgotten)].join('\n  ')
}

function describe(dependence: LandDependence): string {
  return `${placeOf(dependence)} rests on a change by ${dependence.agent_id}`
}

function describeForgotten(range: LandForgotten): string {
  return `${placeOf(range)} is by ${range.agents.join(' or ')}: forgotten`
}

function placeOf({ path, start_line, end_line }: Pick<LandDependence, 'path' | 'start_line' | 'end_line'>): string {
  const lines = start_line === undefined ? '' : `:${start_line}${end_line === start_line ? '' : `-${end_line}`}`
  return `${path}${lines}`
}

export function toPlan(
  { plan, files, dependent, status, parent, ...prepared }: LandPrepareOutput,
  agent: string | undefined
): object {
  const { uncertain, forgotten, unknown, refused, unreachable } = prepared
  const left = { uncertain, forgotten, unknown, refused, unreachable }
  return agent === undefined
    ? { parent, agents: plan, ...left }
    : { parent, status, agent_id: agent, paths: files.map(({ name }) => name), dependent, ...left }
}

export function printPlan(prepared: LandPrepareOutput, agent: string | undefined): void {
  const { plan, files, dependent, unknown, message } = prepared
  if (agent !== undefined) {
    if (message !== undefined) print(message)
    for (const { name, content } of files) print(`${content === null ? 'removed ' : ''}${name}`)
    for (const one of dependent) print(describe(one))
    for (const line of describeLeft(prepared)) print(line)
    return
  }
  if (plan.length === 0) print('There is nothing to land: no uncommitted change has a known author.')
  for (const share of plan) {
    print(
      `${share.agent_id}: ${share.paths.length} ${share.paths.length === 1 ? 'file' : 'files'}, +${share.added} -${share.removed}`
    )
    for (const path of share.paths) print(`  ${path}`)
    for (const one of share.dependent) print(`  ${describe(one)}`)
  }
  if (unknown.length > 0) print('By unknown authors, to be committed with Git:')
  for (const path of unknown) print(`  ${path}`)
  if (message !== undefined) print(message)
  for (const line of describeLeft(prepared)) print(line)
}
