// land: a commit of one agent's changes, out of a tree that several share. Nothing that the repository names runs.
import { join } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { LandDiff, LandForgotten, LandInput, LandOutput, LandRemarks } from '../../schemas/land.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { decodeIfText } from '../engine/files/text.ts'
import { OperationError } from '../errors.ts'
import { someOf } from '../support/cut-text.ts'
import { questionOf } from '../support/suggest.ts'
import { headBlobs, readBlobs } from '../support/project/head-blobs.ts'
import { withNextCommit } from '../support/project/next-commit.ts'
import { timestamp } from '../support/timestamp.ts'
import { createRoom } from './change/answer-room.ts'
import { previewDiff } from './change/preview-diff.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { finishLanding, inTurn } from './land/finish.ts'
import { openSettled, prepareLanding, type Prepared } from './land/prepare.ts'
import { runLanding } from './land/run-landing.ts'

export const land = defineOperation({
  name: 'land',
  title: "Commit one agent's changes",
  description:
    "Makes a Git commit of HEAD and only one agent's uncommitted changes, out of a tree that several share, and moves the branch to it. The working tree is not touched, and what others have changed stays uncommitted. Only lines that are certainly that agent's are taken; if they rest on uncommitted lines of another, nothing is landed, and dependent says which and whose. Runs no hooks, filters or tests (unless land.run says so): async-crud-mcp land does.",
  ...contract.land,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'INVALID_PATTERN'],
  handle: answer
})

const nameless = 'Nothing was landed: Git knows no name for the commit. git config user.name NAME, and user.email.'
/** As often as HEAD may move meanwhile. */
const maxRounds = 5

function answer(input: LandInput, context: OperationContext): Promise<LandOutput> {
  if (context.config.land.run && !input.dry_run) return runLanding(input, context)
  return inTurn(context.files.roots[0]?.real ?? '', () => landNow(input, context))
}

async function landNow(input: LandInput, context: OperationContext): Promise<LandOutput> {
  if (input.dry_run) return showLanding(input, context)
  for (let round = 1; round <= maxRounds; round += 1) {
    const tree = await openSettled(context)
    const output = await withNextCommit(tree, context.signal, async (makeCommit) => {
      const prepared = await prepareLanding(context, tree, input)
      const refusal = refusalOf(input, prepared)
      if (refusal !== undefined) return toOutput(input, prepared, refusal)
      const commit = await makeCommit(prepared)
      if (commit === undefined) throw new OperationError('INVALID_REQUEST', nameless)
      const made = await finishLanding(context, tree, { parent: tree.commit, commit }, `land: ${input.agent}`)
      return made && toOutput(input, prepared, { status: 'ok', commit, branch: made.branch })
    })
    if (output !== undefined) return output
  }
  const message = `HEAD has moved ${maxRounds} times while the commit was made. Nothing was landed: try again.`
  throw new OperationError('OVERLOADED', message, { details: { retry_after_seconds: 1 } })
}

async function showLanding(input: LandInput, context: OperationContext): Promise<LandOutput> {
  const prepared = await prepareLanding(context, await openSettled(context), input)
  const refusal = refusalOf(input, prepared) ?? { status: 'ok' }
  return toOutput(input, prepared, { ...refusal, diffs: await landingDiffs(context, prepared) })
}

/** What a landing would commit, as differences from HEAD, file by file. */
async function landingDiffs(context: OperationContext, { tree, files }: Prepared): Promise<LandDiff[]> {
  const { signal, config } = context
  const paths = files.map(({ name }) => join(tree.workTree, name))
  const wanted = Array.from(await headBlobs(tree, paths, signal), ([path, { blob }]) => ({ path, blob }))
  const heads = await readBlobs(tree, wanted, signal)
  const headOf = new Map(wanted.map((one) => [one.path, heads.get(one)]))
  const textOf = (bytes: Buffer | undefined, path: string) => decodeIfText(bytes, config.crud.default_encoding, path)
  const room = createRoom(context)
  const diffs: LandDiff[] = []
  for (const [index, { name, bytes }] of files.entries()) {
    const path = paths[index]!
    const base = headOf.has(path) ? textOf(headOf.get(path), path) : ''
    const next = bytes === undefined ? '' : textOf(bytes, path)
    const diff = base === undefined || next === undefined ? null : await previewDiff(context, base, next)
    diffs.push({ path: name, diff: room(diff) ? diff : null })
  }
  return diffs
}

type Outcome = Pick<LandOutput, 'status'> & Partial<LandOutput>

/** Why nothing is landed. */
export function refusalOf(
  { agent }: Pick<LandInput, 'agent'>,
  { files, unknown, agents, remarks: { dependent, uncertain, forgotten, refused, unreachable } }: Prepared
): Outcome | undefined {
  if (dependent.length > 0) {
    const others = [...new Set(dependent.map(({ agent_id }) => agent_id))]
    return {
      status: 'dependent',
      message: `Nothing was landed: changes by ${agent} rest on uncommitted changes by ${others.join(', ')} (dependent). ${adviceFor(agent, others)}${sayForgotten(forgotten)}`
    }
  }
  if (files.length > 0) return undefined
  return {
    status: 'nothing',
    message: `There is nothing to land: no uncommitted change is certainly by ${agent}.${questionOf(agent, agents)}${uncertain.length > 0 ? ' include_uncertain takes those that may be.' : ''}${sayForgotten(forgotten)}${sayUnknown(unknown)}${sayRefused(refused)}${sayUnreachable(unreachable)} land_prepare (land --plan) shows what each agent could land.`
  }
}

/** In a message. */
const maxNamed = 3

/** Begins with a blank; empty if there are none. */
function sayUnknown(unknown: readonly string[]): string {
  if (unknown.length === 0) return ''
  return ` Changes in ${someOf(unknown, maxNamed)} have no known author: they were made before the server saw these files, or it remembers no versions of them. Commit these with Git.`
}

/** Begins with a blank; empty if there are none. */
function sayUnreachable(unreachable: readonly string[]): string {
  if (unreachable.length === 0) return ''
  return ` The names of ${someOf(unreachable, maxNamed)} are not UTF-8, and no landing takes such files. Commit these with Git.`
}

/** Begins with a blank; empty if there are none. */
function sayRefused(refused: readonly string[]): string {
  if (refused.length === 0) return ''
  return ` Git takes ${someOf(refused, maxNamed)} into no commit: on some systems such a name is that of its own folder. Rename the file, and it lands.`
}

/** Begins with a blank; empty if nothing is forgotten. */
function sayForgotten(forgotten: readonly LandForgotten[]): string {
  const files = [...new Set(forgotten.map(({ path }) => path))]
  if (files.length === 0) return ''
  return ` Lines of ${someOf(files, maxNamed)} are not taken, since the versions that made them are no longer kept (forgotten): look at them, then include_uncertain takes them. A larger crud.max_file_versions or crud.base_cache_bytes keeps more.`
}

/** Where nothing else is to be said. */
export function leftMessage({ forgotten, refused }: LandRemarks): Pick<LandOutput, 'message'> {
  const message = `${sayForgotten(forgotten)}${sayRefused(refused)}`.trimStart()
  return message === '' ? {} : { message }
}

function adviceFor(agent: string, others: readonly string[]): string {
  if (others.includes('unknown')) return 'Of some lines nobody can tell who made them: commit these yourself.'
  if (others.includes(agent)) return 'Some of its own may be of another, too: include_uncertain takes these.'
  return `with: ${JSON.stringify(others)} takes theirs along, or they land first.`
}

function toOutput({ dry_run }: LandInput, prepared: Prepared, outcome: Outcome): LandOutput {
  return {
    ...leftMessage(prepared.remarks),
    ...outcome,
    ...(dry_run && { dry_run: true as const }),
    paths: prepared.files.map(({ name }) => name),
    ...prepared.remarks,
    timestamp: timestamp()
  }
}
