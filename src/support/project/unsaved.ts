// What differs from HEAD in the repository of a folder, by Git's own status, without running what the repository names.
import { join, relative, sep } from 'node:path'
import { withSlashes } from '../slashes.ts'
import { toName } from '../raw-name.ts'
import { streamGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import { openWorkTree, type WorkTree } from './work-tree.ts'

/** What a path is now, compared with HEAD. */
export interface UnsavedFile {
  /** `renamed`: known to Git under another name, as staged. A rename that is not staged is one path deleted and one untracked. */
  readonly what: 'added' | 'modified' | 'deleted' | 'untracked' | 'renamed'
  /** The id of its blob in HEAD; undefined if HEAD has no such path. */
  readonly head?: string
  /** Its mode there, as Git writes it. */
  readonly headMode?: string
  /** The id of its blob in the index; undefined if the index has no such path, or several stages of it. */
  readonly index?: string
  /** True if the file differs from the index. */
  readonly isUnstaged: boolean
  /** True if the index differs from HEAD at the path. */
  readonly isStaged: boolean
  /** True if a merge has left the path in conflict. */
  readonly isUnmerged?: true
  /** The path that it has in HEAD. */
  readonly renamedFrom?: string
}

export interface Unsaved {
  readonly tree: WorkTree
  /** By absolute path below the real path of the working tree. */
  readonly files: ReadonlyMap<string, UnsavedFile>
  /** False if there are more files than `maxFiles`. */
  readonly isComplete: boolean
}

interface Bounds {
  readonly signal: AbortSignal
  readonly maxFiles?: number
  /** Only what these mean in the folder. Default: all below it. */
  readonly pathspecs?: readonly string[]
  /** False to list a staged rename as one path deleted and one added. Default: true. */
  readonly findsRenames?: boolean
}

export const defaultMaxUnsaved = 100_000

const status = ['status', '--porcelain=v2', '-z', '--untracked-files=all', '--ignore-submodules=dirty']

/**
 * Tracked, staged, and untracked files that are not ignored, below the folder.
 * @returns undefined if the folder is in no repository, or Git cannot tell
 */
export async function listUnsaved(folder: string, { signal, maxFiles }: Bounds): Promise<Unsaved | undefined> {
  const tree = await openWorkTree(folder, signal)
  return tree && listUnsavedOf(tree, folder, { signal, ...(maxFiles !== undefined && { maxFiles }) })
}

/** The same, of a repository that is open. */
export function listUnsavedOf(
  tree: WorkTree,
  folder: string,
  { signal, maxFiles = defaultMaxUnsaved, pathspecs, findsRenames = true }: Bounds
): Promise<Unsaved | undefined> {
  return withStandIn(tree, pathspecs === undefined ? tree.workTree : folder, async ({ options, variables }) => {
    const found = createCollector(tree.workTree)
    const below = withSlashes(relative(tree.workTree, folder))
    const only = pathspecs ?? (below === '' ? [] : [`:(top,literal)${below}`])
    const args = [...options, ...status, findsRenames ? '--renames' : '--no-renames', '--', ...only]
    const end = await streamGit(args, signal, variables, (record) => {
      found.add(record)
      return found.files.size <= maxFiles
    })
    if (end === 'failed') return undefined
    return { tree, files: found.files, isComplete: end === 'complete' }
  })
}

function createCollector(workTree: string) {
  const files = new Map<string, UnsavedFile>()
  /** A rename is two records. */
  let renamed: { path: string; fields: readonly string[] } | undefined

  function add(record: Buffer): void {
    if (renamed !== undefined) return addRename(renamed, pathOf(record))
    const kind = String.fromCharCode(record[0] ?? 0)
    if (kind === '?') {
      const path = pathOf(record.subarray(2))
      // A folder with a repository of its own is not looked into.
      if (path.endsWith(sep)) return
      // A path that was taken out of the index while its file stayed is also reported as deleted.
      files.set(path, { isStaged: false, ...files.get(path), what: 'untracked', isUnstaged: true })
      return
    }
    const count = { '1': 8, '2': 9, u: 10 }[kind]
    if (count === undefined) return
    const { fields, rest } = cut(record, count)
    const path = pathOf(rest)
    if (fields[2]?.startsWith('S') === true) return
    if (kind === '2') renamed = { path, fields }
    else if (kind === '1') files.set(path, ordinary(fields))
    else
      files.set(path, {
        what: 'modified',
        ...blob('head', fields[8]),
        isUnstaged: true,
        isStaged: true,
        isUnmerged: true
      })
  }

  function addRename({ path, fields }: NonNullable<typeof renamed>, from: string): void {
    renamed = undefined
    const [, states = '', , headMode, , , head, index] = fields
    const isMoved = fields[8]?.startsWith('R') === true
    const isUnstaged = states[1] !== '.'
    const facts = { ...blob('index', index), isUnstaged, isStaged: true }
    if (states[1] === 'D') files.set(path, { what: 'deleted', ...facts })
    else files.set(path, { what: isMoved ? 'renamed' : 'added', ...facts, renamedFrom: from })
    // A rename that is not staged has its new name in the index only as one to be added.
    const isStaged = states[0] !== '.'
    if (isMoved) files.set(from, { what: 'deleted', ...inHead(headMode, head), isUnstaged: false, isStaged })
  }

  const pathOf = (name: Buffer) => join(workTree, toName(name))
  return { files, add }
}

function ordinary([, states = '', , headMode, , , head, index]: readonly string[]): UnsavedFile {
  const [staged, unstaged] = states
  const isUnstaged = unstaged !== '.'
  const isGone = unstaged === 'D' || staged === 'D'
  const what = isGone ? 'deleted' : staged === 'A' || unstaged === 'A' ? 'added' : 'modified'
  // A path that is only to be added (git add --intent-to-add) is in the index, too.
  const isStaged = staged !== '.' || unstaged === 'A'
  return { what, ...inHead(headMode, head), ...blob('index', index), isUnstaged, isStaged }
}

function inHead(mode: string | undefined, id: string | undefined): { head?: string; headMode?: string } {
  const found = blob('head', id)
  return found.head === undefined || mode === undefined ? found : { ...found, headMode: mode }
}

/** Git writes zeros for no blob. */
function blob(side: 'head' | 'index', id: string | undefined): { head?: string; index?: string } {
  return id === undefined || /^0+$/.test(id) ? {} : { [side]: id }
}

/** The first fields of a record, and its rest, which may contain spaces. */
function cut(record: Buffer, count: number): { fields: string[]; rest: Buffer } {
  let at = 0
  const fields: string[] = []
  for (let field = 0; field < count; field += 1) {
    const end = record.indexOf(0x20, at)
    fields.push(record.toString('latin1', at, end))
    at = end + 1
  }
  return { fields, rest: record.subarray(at) }
}
