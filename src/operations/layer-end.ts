// layer_end: notes that an isolated command has ended, and what was at the paths that it has changed.
import { contract } from '../../schemas/contract.ts'
import type { LayerEndInput, LayerEndOutput } from '../../schemas/layers.ts'
import type { OperationContext } from '../engine/call/context.ts'
import type { Found } from '../engine/layers/layers.ts'
import { OperationError } from '../errors.ts'
import { timestamp } from '../support/timestamp.ts'
import { glanceAt } from './change/file-version.ts'
import { defineOperation } from './definition/define.ts'
import { contentsOf, requireLayer } from './layer/open-layer.ts'
import { readCurrent, stateOf } from './layer/path-state.ts'

export const layerEnd = defineOperation({
  name: 'layer_end',
  title: 'End an isolated command',
  description:
    'For operators, over REST only: what `async-crud-mcp run --isolated` calls once its command has ended, and nothing writes to the layer any more. layer_apply then takes it over, or layer_drop drops it.',
  ...contract.layer_end,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [],
  isForOperators: true,
  handle: end
})

async function end(input: LayerEndInput, context: OperationContext): Promise<LayerEndOutput> {
  const { layers, history } = context
  const layer = requireLayer(input.layer, context)
  const hidden = input.hidden_folders
  const { entries } = await contentsOf(layer, new Set(hidden), context)
  const found: Record<string, Found> = {}
  for (const { path } of entries) {
    const one = await look(path, context)
    if (one !== undefined) found[path] = one
  }
  layers.end(layer, { exitCode: input.exit_code, seq: history.seq, hidden, found })
  return { status: 'ok', files: entries.length, timestamp: timestamp() }
}

/** Undefined if it cannot be said. */
async function look(path: string, context: OperationContext): Promise<Found | undefined> {
  try {
    const place = context.files.open(path, 'canonical')
    try {
      const current = await readCurrent(context, place, path, () => glanceAt(context, place, path))
      const there = current.kind === 'none' ? undefined : place.stat
      const { ctimeNs } = (current.kind === 'file' ? current.version.identity : there) ?? {}
      const changedAt = ctimeNs === undefined ? undefined : Number(ctimeNs / 1_000_000n)
      return { state: stateOf(current), changedAt }
    } finally {
      place.close()
    }
  } catch (error) {
    if (error instanceof OperationError) return undefined
    throw error
  }
}
