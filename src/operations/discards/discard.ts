// What a command would take from the working tree.
import type { WorkTree } from '../../support/project/work-tree.ts'
import { listUnsavedOf, type Unsaved, type UnsavedFile } from '../../support/project/unsaved.ts'

/** What is at a path after the command: a blob of Git, nothing, or something that cannot be told. */
export type Left = { readonly blob: string } | 'nothing' | 'unknown'

export interface Taken {
  readonly left: Left
  /** The path at which HEAD has the file; the command brings that back. */
  readonly renamedFrom?: string | undefined
}

export interface Discard {
  /** By absolute path. */
  readonly taken: ReadonlyMap<string, Taken>
  /** Whole folders that it removes. */
  readonly folders?: readonly string[]
  /** What of it cannot be told. */
  readonly unknown?: string
}

export const noDiscard: Discard = { taken: new Map() }

export const unknownDiscard = (unknown: string): Discard => ({ taken: new Map(), unknown })

/** A repository as it is before the command; its differences from HEAD are found once. */
export interface Look {
  readonly tree: WorkTree
  readonly signal: AbortSignal
  readonly unsaved: () => Promise<Unsaved>
  /** Those that pathspecs mean in the folder. */
  readonly matching: (folder: string, pathspecs: readonly string[]) => Promise<ReadonlyMap<string, UnsavedFile>>
}

/** Git could not tell what differs. */
export class LookFailed extends Error {}

export function createLook(tree: WorkTree, signal: AbortSignal, maxFiles: number): Look {
  let all: Promise<Unsaved> | undefined
  async function list(folder: string, pathspecs?: readonly string[]): Promise<Unsaved> {
    const bounds = { signal, maxFiles, ...(pathspecs !== undefined && { pathspecs }) }
    const found = await listUnsavedOf(tree, folder, bounds)
    if (found === undefined) throw new LookFailed('git status')
    return found
  }
  const unsaved = () => (all ??= list(tree.workTree))
  return {
    tree,
    signal,
    unsaved,
    matching: async (folder, pathspecs) =>
      pathspecs.length === 0 ? (await unsaved()).files : (await list(folder, pathspecs)).files
  }
}

/** Known to Git: in the index or in HEAD. */
export function isTracked({ what, head, index, isUnmerged }: UnsavedFile): boolean {
  return what !== 'untracked' || head !== undefined || index !== undefined || isUnmerged === true
}

export function leftBlob(blob: string | undefined): Left {
  return blob === undefined ? 'nothing' : { blob }
}
