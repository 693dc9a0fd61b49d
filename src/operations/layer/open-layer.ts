// A layer by its id, and what it holds over all roots.
import { join } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { readIgnoredPaths } from '../../engine/layers/ignored-paths.ts'
import { readContents, type LayerContents } from '../../engine/layers/layer-contents.ts'
import type { Layer } from '../../engine/layers/layers.ts'
import { OperationError } from '../../errors.ts'

/** @throws OperationError INVALID_REQUEST */
export function requireLayer(id: string, { layers, files }: Pick<OperationContext, 'layers' | 'files'>): Layer {
  const layer = layers.read(id)
  if (layer === undefined) {
    const message = `There is no layer ${id}: it was applied, dropped, or kept for seven days. async-crud-mcp run --list shows those that are there.`
    throw new OperationError('INVALID_REQUEST', message)
  }
  const roots = files.roots.map(({ real }) => real)
  if (roots.join('\0') === layer.roots.join('\0')) return layer
  const message = `The layer ${id} lies over ${layer.roots.join(', ')}, and this server serves ${roots.join(', ')}. Drop it (async-crud-mcp run --drop ${id}), or serve the same roots again.`
  throw new OperationError('INVALID_REQUEST', message)
}

export async function contentsOf(
  { folder, roots }: Layer,
  hidden: ReadonlySet<string>,
  { history, signal }: Pick<OperationContext, 'history' | 'signal'>
): Promise<LayerContents> {
  const all: LayerContents = { entries: [], ignored: [], made: [], modes: [], removed: [], left: [] }
  for (const [index, root] of roots.entries()) {
    const ignored = await readIgnoredPaths(root, history.paths(), signal)
    const upper = join(folder, String(index), 'upper')
    await readContents(all, { root, upper }, { ignored, hidden, signal })
  }
  return all
}
