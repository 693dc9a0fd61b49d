// What files not in use were before a command changed them, if they did not differ from HEAD: their blobs, as Git would check them out.
import { unknownIdentity, type FileIdentity } from '../files/identity.ts'
import { contentHash } from '../files/content-hash.ts'
import { headBlobs, readBlobs, type HeadFile } from '../../support/project/head-blobs.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import type { Bases } from '../versions/bases.ts'
import type { FileState } from './found-change.ts'

/** A file that was as the commit of the tree has it. */
export interface Clean {
  readonly path: string
  readonly tree: WorkTree
  /** Permission bits that it has now. */
  readonly mode?: number | undefined
}

/** Read at once. */
const filesPerRead = 200
const timeoutMs = 20_000

/** @returns by path; those whose bytes only a program can tell, such as a filter of the repository, are left out */
export async function findCleanBases(
  wanted: readonly Clean[],
  bases: Pick<Bases, 'keep'>
): Promise<ReadonlyMap<string, FileState>> {
  const found = new Map<string, FileState>()
  const signal = AbortSignal.timeout(timeoutMs)
  for (const tree of new Set(wanted.map((one) => one.tree))) {
    const files = wanted.filter((one) => one.tree === tree)
    for (let at = 0; at < files.length; at += filesPerRead)
      for (const [path, state] of await readSome(tree, files.slice(at, at + filesPerRead), bases, signal))
        found.set(path, state)
  }
  return found
}

async function readSome(
  tree: WorkTree,
  clean: readonly Clean[],
  bases: Pick<Bases, 'keep'>,
  signal: AbortSignal
): Promise<ReadonlyMap<string, FileState>> {
  const found = new Map<string, FileState>()
  const modes = new Map(clean.map(({ path, mode }) => [path, mode]))
  const heads = await headBlobs(tree, [...modes.keys()], signal)
  const files = [...heads].filter(([, { mode }]) => mode.startsWith('100')).map(([path, { blob }]) => ({ path, blob }))
  for (const [{ path }, bytes] of await readBlobs(tree, files, signal)) {
    if (bytes === undefined) continue
    const hash = contentHash(bytes)
    bases.keep(hash, bytes)
    found.set(path, { kind: 'file', hash, identity: identityBefore(heads.get(path)!, modes.get(path)) })
  }
  return found
}

/** Git keeps of the permission bits whether a file can be run. */
function identityBefore({ mode }: HeadFile, made: number | undefined): FileIdentity {
  const canRun = mode === '100755'
  if (made === undefined) return canRun ? { ...unknownIdentity, mode: 0o755 } : unknownIdentity
  return { ...unknownIdentity, mode: canRun ? made | ((made & 0o444) >> 2) : made & ~0o111 }
}
