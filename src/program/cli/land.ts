// async-crud-mcp land: commits one agent's changes out of a tree that several share, tested as the commit will be.
import type { LandFinishOutput, LandPrepareOutput } from '../../../schemas/land.ts'
import { removeLeftTrees } from '../../operations/land/landing-trees.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { findServer } from '../../tree/state/state-file.ts'
import { callAuthority } from '../hook/call-authority.ts'
import { landOnce } from '../land/land-once.ts'
import { createGit, requireGit, requireIdentity, type OwnGit } from '../land/own-git.ts'
import { describeLeft, explain, printLanded, printPlan, toOutcome, toPlan } from '../land/report.ts'
import { withLandingLock } from '../land/landing-lock.ts'
import { collect, createCommand, orFail } from './command.ts'
import { printJson } from './output.ts'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'

interface Flags {
  readonly agent?: string
  readonly changeSet?: string
  readonly paths?: string[]
  readonly with?: string[]
  readonly message?: string
  readonly plan?: boolean
  readonly json?: boolean
  readonly keep?: boolean
  readonly verify?: boolean
  readonly includeUncertain?: boolean
  readonly includeOverwritten?: boolean
  readonly dir?: string
}

/** As often as HEAD may move meanwhile. */
const maxRounds = 5
/** Of a call: a plan reads every file that differs from HEAD. */
const timeoutMs = 300_000
const maxAnswerBytes = 1024 * 1024 * 1024

export function createLandCommand(): Command {
  return createCommand('land')
    .description("commits one agent's changes out of a tree that several share, if a test passes on them")
    .argument('[test...]', 'the test and its arguments, after --; default: land.test')
    .option('--agent <name>', 'whose changes, by agent_id; external means people beside the server')
    .option('--change-set <name>', 'only this task of the agent')
    .option('--paths <glob>', 'only these files, relative to their root; may be repeated', collect)
    .option('--with <agent>', 'take the changes of this agent along; may be repeated', collect)
    .option('-m, --message <text>', 'the message of the commit')
    .option('--include-uncertain', 'take changes, too, that another may have made')
    .option(
      '--include-overwritten',
      'take lines and new files, too, that other agents have replaced or removed, as if they had not'
    )
    .option('--plan', 'show what would land, of this agent or of all, and change nothing')
    .option('--json', 'the plan or the outcome as JSON')
    .option('--keep', 'keep the files of the commit if the test fails')
    .option('--no-verify', "skip Git's pre-commit and commit-msg hooks")
    .option('--dir <folder>', 'begin in this folder')
    .action(orFail(run))
}

/** Exit code 1 if nothing was landed, with the reason on stderr. */
async function run(test: readonly string[], flags: Flags): Promise<void> {
  const { dir = '.', agent, plan = false, json = false } = flags
  if (agent === undefined && !plan)
    throw new Error('whose changes? Pass --agent <name>; --plan shows what each agent could land')
  const state = findServer(dir)
  if (state === undefined)
    throw new Error(`no server runs for ${resolve(dir)} or a folder above it, so nobody knows whose each change is`)
  const { root } = state.project
  const git = createGit(root)
  await requireGit(git)
  const own = join(root, ownFolder)
  await removeLeftTrees(own)
  if (agent === undefined || plan) {
    const prepared = await prepare(root, git, flags)
    return json ? printJson(toPlan(prepared, agent)) : printPlan(prepared, agent)
  }
  await requireIdentity(git)
  const onWait = () => say('another landing is under way: waiting for its end')
  // What is tested is what will be: one landing after the other.
  await withLandingLock(own, onWait, () => landRounds({ root, git, agent }, test, flags))
}

interface Place {
  readonly root: string
  readonly git: OwnGit
  readonly agent: string
}

async function landRounds({ root, git, agent }: Place, test: readonly string[], flags: Flags): Promise<void> {
  const { json = false } = flags
  const refuse = (prepared: LandPrepareOutput, message: string) => {
    if (!json) throw new Error(message)
    printJson(toOutcome(prepared, { status: prepared.status === 'ok' ? 'failed' : prepared.status, message }))
    process.exitCode = 1
  }
  for (let round = 1; round <= maxRounds; round += 1) {
    const prepared = await prepare(root, git, flags)
    if (prepared.status !== 'ok') return refuse(prepared, json ? (prepared.message ?? '') : explain(prepared))
    if (prepared.taken_along.length > 0) say(`rests on, and takes along: ${prepared.taken_along.join(', ')}`)
    for (const line of describeLeft(prepared)) say(line)
    const result = await landOnce({ git, root, prepared, finish: finishAt(root, agent), say }, toOptions(test, flags))
    if (result.kind === 'failed') return refuse(prepared, `nothing was landed: ${result.why}`)
    if (result.kind === 'landed') return json ? printJson(toOutcome(prepared, result)) : printLanded(result, prepared)
    say('HEAD has moved meanwhile: composed and tested anew')
  }
  throw new Error(`HEAD has moved ${maxRounds} times meanwhile. Nothing was landed: try again`)
}

function say(line: string): void {
  process.stderr.write(`async-crud-mcp: ${line}\n`)
}

const toOptions = (test: readonly string[], { keep = false, verify = true, json = false }: Flags) => ({
  test,
  keepsTree: keep,
  skipsHooks: !verify,
  printsTest: !json
})

const call = (root: string, name: string, input: object) =>
  callAuthority(root, { name, input, signal: AbortSignal.timeout(timeoutMs), maxAnswerBytes })

function finishAt(root: string, agent: string) {
  return async (parent: string, commit: string) =>
    (await call(root, 'land_finish', { agent, parent, commit })) as unknown as LandFinishOutput
}

async function prepare(root: string, git: OwnGit, flags: Flags): Promise<LandPrepareOutput> {
  const { agent, changeSet, paths, message, includeUncertain = false, includeOverwritten = false } = flags
  const input = {
    ...(agent !== undefined && { agent }),
    ...(changeSet !== undefined && { of_change_set: changeSet }),
    ...(paths !== undefined && { paths }),
    ...(flags.with !== undefined && { with: flags.with }),
    ...(message !== undefined && { message }),
    include_uncertain: includeUncertain,
    include_overwritten: includeOverwritten
  }
  const first = (await call(root, 'land_prepare', input)) as unknown as LandPrepareOutput
  const filtered = first.left_out.filter((name) => !first.refused.includes(name))
  if (filtered.length === 0) return first
  // Only here may the filters of the repository run.
  const heads = await Promise.all(
    filtered.map(async (name) => {
      const content = await git(['cat-file', '--filters', `${first.parent}:${name}`])
      return { name, content: content.toString('base64') }
    })
  )
  return (await call(root, 'land_prepare', { ...input, heads })) as unknown as LandPrepareOutput
}
