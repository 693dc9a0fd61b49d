// What isolated commands have written and is kept: listed, taken over, dropped.
import type { LayerDropOutput, LayerListOutput } from '../../../schemas/layers.ts'
import { callLayers } from './call-layers.ts'
import { apply } from './run-isolated.ts'
import { tell } from './tell.ts'

/** A line for each, the oldest first. */
export async function listLayers(root: string): Promise<string[]> {
  const { layers } = await callLayers(root)<LayerListOutput>('layer_list', {})
  return layers.map(({ layer, command, agent_id, began_at, exit_code }) => {
    const state = exit_code === undefined ? 'runs' : `exit ${exit_code}`
    return `${layer}  ${began_at}  ${state}  ${agent_id === undefined ? '' : `${agent_id}: `}${command}`
  })
}

/** @returns the exit code */
export async function applyLayer(root: string, layer: string): Promise<number> {
  return apply(callLayers(root), layer)
}

/** @returns the exit code */
export async function dropLayer(root: string, layer: string): Promise<number> {
  const { dropped } = await callLayers(root)<LayerDropOutput>('layer_drop', { layer })
  tell(dropped ? `${layer} is dropped` : `there was no layer ${layer}`)
  return 0
}
