// What files were before a command changed them that nobody used and that did not differ from HEAD: their blobs, as Git would check them out.
import { unknownIdentity, type FileIdentity } from '../files/identity.ts'
import { contentHash } from '../files/read-file.ts'
import { headBlobs, readBlobs, type HeadFile } from '../../support/project/head-blobs.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import type { Bases } from '../versions/bases.ts'
import type { Now } from '../versions/history.ts'
import type { FileState, FoundChange } from './found-change.ts'

interface Clean {
  readonly change: FoundChange
  readonly tree: WorkTree
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
    const changes = wanted.flatMap((one) => (one.tree === tree ? one.change : []))
    for (let at = 0; at < changes.length; at += filesPerRead)
      for (const [path, state] of await readSome(tree, changes.slice(at, at + filesPerRead), bases, signal))
        found.set(path, state)
  }
  return found
}

async function readSome(
  tree: WorkTree,
  changes: readonly FoundChange[],
  bases: Pick<Bases, 'keep'>,
  signal: AbortSignal
): Promise<ReadonlyMap<string, FileState>> {
  const found = new Map<string, FileState>()
  const nowAt = new Map(changes.map(({ path, now }) => [path, now]))
  const heads = await headBlobs(tree, [...nowAt.keys()], signal)
  const files = [...heads].filter(([, { mode }]) => mode.startsWith('100')).map(([path, { blob }]) => ({ path, blob }))
  for (const [{ path }, bytes] of await readBlobs(tree, files, signal)) {
    if (bytes === undefined) continue
    const hash = contentHash(bytes)
    bases.keep(hash, bytes)
    found.set(path, { kind: 'file', hash, identity: identityBefore(heads.get(path)!, nowAt.get(path)!) })
  }
  return found
}

/** Git keeps of the permission bits whether a file can be run. */
function identityBefore({ mode }: HeadFile, now: Now): FileIdentity {
  const canRun = mode === '100755'
  const made = now.kind === 'file' ? now.identity.mode : undefined
  if (made === undefined) return canRun ? { ...unknownIdentity, mode: 0o755 } : unknownIdentity
  return { ...unknownIdentity, mode: canRun ? made | ((made & 0o444) >> 2) : made & ~0o111 }
}
