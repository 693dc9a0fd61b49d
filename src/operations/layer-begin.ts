// layer_begin: makes an empty layer for an isolated command.
import { contract } from '../../schemas/contract.ts'
import type { LayerBeginInput, LayerBeginOutput } from '../../schemas/layers.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { maskSecrets } from '../engine/commands/mask-secrets.ts'
import { timestamp } from '../support/timestamp.ts'
import { defineOperation } from './definition/define.ts'

export const layerBegin = defineOperation({
  name: 'layer_begin',
  title: 'Begin an isolated command',
  description:
    'For operators, over REST only: what `async-crud-mcp run --isolated` calls first. Makes an empty layer, into which the command writes; layer_end and layer_apply take it over.',
  ...contract.layer_begin,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [],
  isForOperators: true,
  handle: begin
})

async function begin({ command, pid }: LayerBeginInput, context: OperationContext): Promise<LayerBeginOutput> {
  const { layers, history, caller } = context
  await layers.sweep()
  const { agentId, changeSet } = caller
  const { id, folder, roots } = layers.begin({
    command: maskSecrets(command),
    pid,
    agentId,
    changeSet,
    seq: history.seq
  })
  return { status: 'ok', layer: id, folder, roots: [...roots], timestamp: timestamp() }
}
