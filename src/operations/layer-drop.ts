// layer_drop: drops what an isolated command has written.
import { contract } from '../../schemas/contract.ts'
import type { LayerDropInput, LayerDropOutput } from '../../schemas/layers.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { timestamp } from '../support/timestamp.ts'
import { defineOperation } from './definition/define.ts'

export const layerDrop = defineOperation({
  name: 'layer_drop',
  title: 'Drop the layer of an isolated command',
  description: 'For operators, over REST only: what `async-crud-mcp run --drop` calls. The tree stays as it is.',
  ...contract.layer_drop,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  errors: [],
  isForOperators: true,
  handle: drop
})

async function drop({ layer }: LayerDropInput, { layers }: OperationContext): Promise<LayerDropOutput> {
  const isThere = layers.read(layer) !== undefined
  await layers.drop(layer)
  return { status: 'ok', dropped: isThere, timestamp: timestamp() }
}
