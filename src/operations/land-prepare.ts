// land_prepare and land_finish: a landing whose commit the command line makes, with the hooks, filters and tests of the user.
import { contract } from '../../schemas/contract.ts'
import type { LandFinishInput, LandFinishOutput, LandPrepareInput, LandPrepareOutput } from '../../schemas/land.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { timestamp } from '../support/timestamp.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { finishLanding, inTurn } from './land/finish.ts'
import { openSettled, planAll, prepareLanding } from './land/prepare.ts'
import { openForLanding } from './land/refuse-repository.ts'
import { leftMessage, refusalOf } from './land.ts'

const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

export const landPrepare = defineOperation({
  name: 'land_prepare',
  title: 'Prepare a landing',
  description:
    'For operators, over REST only: what async-crud-mcp land makes a commit of: the files of HEAD with the changes of one agent, or without an agent what each could land.',
  ...contract.land_prepare,
  annotations: { ...annotations, readOnlyHint: true },
  errors: [...changeErrors, 'INVALID_PATTERN'],
  isForOperators: true,
  handle: prepare
})

export const landFinish = defineOperation({
  name: 'land_finish',
  title: 'Finish a landing',
  description:
    'For operators, over REST only: moves the branch to the commit that async-crud-mcp land has made of what was prepared, if HEAD is still its parent; the index of the user follows for its paths.',
  ...contract.land_finish,
  annotations,
  errors: changeErrors,
  isForOperators: true,
  handle: finish
})

async function prepare(input: LandPrepareInput, context: OperationContext): Promise<LandPrepareOutput> {
  const { agent, heads = [] } = input
  const given = new Map(heads.map(({ name, content }) => [name, Buffer.from(content, 'base64')]))
  const { share, test } = context.config.land
  const common = { share: [...share], test: [...test], timestamp: timestamp() }
  const tree = await openSettled(context)
  if (agent === undefined) {
    const left = await planAll(context, tree, input, given)
    const { plan, uncertain, forgotten, unknown, leftOut, refused, unreachable } = left
    return {
      status: plan.length === 0 ? 'nothing' : 'ok',
      work_tree: tree.workTree,
      parent: tree.commit,
      commit_message: '',
      files: [],
      dependent: [],
      taken_along: [],
      uncertain,
      forgotten,
      unknown,
      left_out: leftOut,
      refused,
      unreachable,
      plan,
      ...leftMessage(left),
      ...common
    }
  }
  const prepared = await prepareLanding(context, tree, { ...input, agent }, given)
  const refusal = refusalOf({ agent }, prepared)
  return {
    status: 'ok',
    ...leftMessage(prepared),
    ...refusal,
    work_tree: tree.workTree,
    parent: tree.commit,
    commit_message: prepared.message,
    files: prepared.files.map(({ name, mode, bytes }) => ({
      name,
      mode: mode as '100644',
      content: bytes?.toString('base64') ?? null
    })),
    dependent: [...prepared.dependent],
    taken_along: [...prepared.takenAlong],
    uncertain: [...prepared.uncertain],
    forgotten: [...prepared.forgotten],
    unknown: [...prepared.unknown],
    left_out: [...prepared.leftOut],
    refused: [...prepared.refused],
    unreachable: [...prepared.unreachable],
    plan: [],
    ...common
  }
}

async function finish(
  { agent, parent, commit }: LandFinishInput,
  context: OperationContext
): Promise<LandFinishOutput> {
  const root = context.files.roots[0]?.real ?? ''
  const tree = await openForLanding(root, context.signal)
  const made = await inTurn(root, () => finishLanding(context, tree, { parent, commit }, `land: ${agent}`))
  return { status: made === undefined ? 'moved' : 'ok', ...made, timestamp: timestamp() }
}
