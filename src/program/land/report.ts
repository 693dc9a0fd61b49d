// What the command line says of a landing, to people and as JSON.
import type { LandOutput, LandPrepareOutput } from '../../../schemas/land.ts'
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
  { files, dependent, taken_along, uncertain, left_out }: LandPrepareOutput,
  result: Landed | { readonly status: LandOutput['status'] | 'failed'; readonly message: string }
): object {
  const made = 'status' in result ? result : { status: 'ok', commit: result.commit, branch: result.branch }
  return { ...made, paths: files.map(({ name }) => name), dependent, taken_along, uncertain, left_out }
}

export function explain({ message = 'nothing was landed', dependent }: LandPrepareOutput): string {
  return [message, ...dependent.map(describe)].join('\n  ')
}

function describe({ path, start_line, end_line, agent_id }: LandPrepareOutput['dependent'][number]): string {
  const lines = start_line === undefined ? '' : `:${start_line}${end_line === start_line ? '' : `-${end_line}`}`
  return `${path}${lines} rests on a change by ${agent_id}`
}

export function toPlan(
  { plan, files, dependent, status, parent }: LandPrepareOutput,
  agent: string | undefined
): object {
  return agent === undefined
    ? { parent, agents: plan }
    : { parent, status, agent_id: agent, paths: files.map(({ name }) => name), dependent }
}

export function printPlan({ plan, files, dependent, message }: LandPrepareOutput, agent: string | undefined): void {
  if (agent !== undefined) {
    if (message !== undefined) print(message)
    for (const { name, content } of files) print(`${content === null ? 'removed ' : ''}${name}`)
    for (const one of dependent) print(describe(one))
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
}
