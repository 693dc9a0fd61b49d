// layer_list: the layers that are kept, and those whose commands run.
import { contract } from '../../schemas/contract.ts'
import type { LayerListInput, LayerListOutput } from '../../schemas/layers.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { timestamp } from '../support/timestamp.ts'
import { defineOperation } from './definition/define.ts'

export const layerList = defineOperation({
  name: 'layer_list',
  title: 'List the layers of isolated commands',
  description:
    'For operators, over REST only: what `async-crud-mcp run --list` shows. A layer that is kept ends after seven days.',
  ...contract.layer_list,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [],
  isForOperators: true,
  handle: list
})

async function list(_input: LayerListInput, { layers }: OperationContext): Promise<LayerListOutput> {
  await layers.sweep()
  const facts = layers.list().map(({ id, command, agentId, beganAt, end }) => ({
    layer: id,
    command,
    ...(agentId !== undefined && { agent_id: agentId }),
    began_at: timestamp(beganAt),
    ...(end !== undefined && { ended_at: timestamp(end.at), exit_code: end.exitCode })
  }))
  return { status: 'ok', layers: facts, timestamp: timestamp() }
}
