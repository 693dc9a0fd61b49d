// The sets of tools that the setting `mcp.tools` names, each complete in itself.
import { contract, type OperationName } from './contract.ts'

type ToolNames = readonly OperationName[]

const core: ToolNames = [
  'async_read',
  'async_write',
  'async_update',
  'async_delete',
  'async_rename',
  'async_append',
  'async_list'
]

const locks: ToolNames = ['lock_try', 'lock_wait', 'lock_renew', 'lock_release', 'lock_release_all', 'lock_status']

/** The file-editing face: what `core` does, for one flat folder. */
const files: ToolNames = ['list_files', 'read_file', 'edit_file']

/** For those who clean up after others. */
const undo: ToolNames = ['async_undo', 'async_blame', 'async_history', 'async_diff', 'async_restore', 'land']

/** What the edit tools of a harness lack, once hooks have put these into the queues. Landing is for those who ask for it. */
const beside: ToolNames = [...locks, 'async_status', ...undo.filter((name) => name !== 'land')]

/** No agent's tools. */
const others: ToolNames = [
  'lock_break',
  'native_hook',
  'layer_begin',
  'layer_end',
  'layer_apply',
  'layer_list',
  'layer_drop',
  'land_prepare',
  'land_finish',
  'replay'
]

/** Without `files`: a model would have to choose between tools that do nearly the same. */
// Nor `land`, which few need and every listing would pay for.
const all = (Object.keys(contract) as OperationName[]).filter((name) => ![...files, ...others, 'land'].includes(name))

/** By the words that name them. */
export const toolSets: Readonly<Record<string, ToolNames>> = { core, locks, undo, beside, files, all }

/** Every word that `mcp.tools` takes: the sets, then the tools. */
export const toolChoices: readonly string[] = [...new Set([...Object.keys(toolSets), ...all, ...files, 'land'])]

/** @param words sets and names of tools */
export function toolsNamed(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.flatMap((word): readonly string[] => toolSets[word] ?? [word]))
}
