// What `async-crud-mcp run` does with layers: an isolated command, and what is kept of earlier ones.
import { findServer } from '../../tree/state/state-file.ts'

export interface LayerFlags {
  readonly isolated?: boolean
  readonly keep?: boolean
  readonly list?: boolean
  readonly apply?: string
  readonly drop?: string
}

interface Given extends LayerFlags {
  readonly agent: string | undefined
  readonly changeSet: string | undefined
}

/** True if the call is about a layer. */
export function concernsLayers({ isolated, keep, list, apply, drop }: LayerFlags): boolean {
  return [isolated, keep, list, apply, drop].some((flag) => flag !== undefined)
}

/** @returns the exit code @throws Error that says what is wrong with the call, or what is in the way */
export async function act(command: readonly string[], given: Given): Promise<number> {
  const { isolated, keep, list, apply, drop, agent, changeSet } = given
  const wishes = [isolated, list, apply, drop].filter((wish) => wish !== undefined)
  if (wishes.length !== 1) throw new Error('pass one of --isolated, --list, --apply and --drop')
  if (keep === true && isolated === undefined) throw new Error('--keep goes with --isolated')
  if (isolated === undefined && command.length > 0) throw new Error('--list, --apply and --drop take no command')
  if (isolated === undefined) {
    const { applyLayer, dropLayer, listLayers } = await import('./kept-layers.ts')
    if (apply !== undefined) return applyLayer(findRoot(), toLayer(apply))
    if (drop !== undefined) return dropLayer(findRoot(), toLayer(drop))
    for (const line of await listLayers(findRoot())) process.stdout.write(`${line}\n`)
    return 0
  }
  const { runIsolated } = await import('./run-isolated.ts')
  return runIsolated(findRoot(), { command, agent, changeSet, isKept: keep === true })
}

/** The real path of the first root of the server of the current folder. */
function findRoot(): string {
  const state = findServer(process.cwd())
  if (state === undefined)
    throw new Error(`no running server found above ${process.cwd()}: start one (async-crud-mcp --dir <folder>)`)
  if (state.is_outside === true)
    throw new Error('the server of this tree runs outside of this container: run the command there')
  return state.project.root
}

function toLayer(value: string): string {
  if (/^[0-9a-f]{8}$/.test(value)) return value
  throw new Error(`${value} is no id of a layer: eight digits, as --list shows it`)
}
