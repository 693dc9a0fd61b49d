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
  const tree = await openSettled(context)
  const common = {
    work_tree: tree.workTree,
    parent: tree.commit,
    share: [...share],
    test: [...test],
    timestamp: timestamp()
  }
  if (agent === undefined) {
    const { plan, remarks, unknown } = await planAll(context, tree, input, given)
    const status = plan.length === 0 ? 'nothing' : 'ok'
    return { status, ...leftMessage(remarks), commit_message: '', files: [], ...remarks, unknown, plan, ...common }
  }
  const prepared = await prepareLanding(context, tree, { ...input, agent }, given)
  const { message, files, remarks, unknown } = prepared
  return {
    status: 'ok',
    ...leftMessage(remarks),
    ...refusalOf({ agent }, prepared),
    commit_message: message,
    files: files.map(({ name, mode, bytes }) => ({
      name,
      mode: mode as '100644',
      content: bytes?.toString('base64') ?? null
    })),
    ...remarks,
    unknown,
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
