// Whether the volume replaces a file in one step though a program has it open: the fence of several hosts rests on that.
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Root } from '../../engine/files/roots.ts'
import { temporaryName } from '../../engine/files/temporary-names.ts'
import { atMost } from '../../support/at-most.ts'
import { codeOf } from '../../support/errno.ts'
import { servedDirectory } from '../state/served-directory.ts'
import { UnfitVolume } from './volume-view.ts'

/**
 * Clients of NFS (`nfs_rename`) and programs of libfuse (`hide_node`) first give an open file a hidden name. A host that is late with this
 * step takes the name away from what the next host has written.
 * @returns what keeps this from being known, within this time: a sentence. @throws UnfitVolume
 */
export async function lookAtRenames(root: Root, limitMs: number): Promise<string | undefined> {
  const found = await atMost(
    limitMs,
    replacesWhole(root).catch((error: Error) => `No file can be replaced in ${root.real} (${codeOf(error)}).`)
  )
  if (found === false) throw new UnfitVolume(messageFor(root.real))
  if (found === undefined) return `The volume of ${root.real} has not answered within ${limitMs} ms.`
  return found === true ? undefined : found
}

async function replacesWhole(root: Root): Promise<boolean> {
  const own = servedDirectory(root).hold()
  const folder = own.at(temporaryName())
  // The hidden file goes a moment after it was closed. What stays is swept by the next start.
  const removed = async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
    own.close()
  }
  let isWhole = true
  try {
    isWhole = await replacesIn(folder)
  } finally {
    const removal = removed()
    // A host that is refused leaves nothing. Others do not wait: a removal on GlusterFS can last as long as a brick hangs.
    if (!isWhole) await removal
  }
  return isWhole
}

async function replacesIn(folder: string): Promise<boolean> {
  const [replaced, made] = [join(folder, 'replaced'), join(folder, 'made')]
  await mkdir(folder, 0o700)
  await Promise.all([replaced, made].map((path) => writeFile(path, '')))
  const opened = await open(replaced)
  try {
    await rename(made, replaced)
    return (await readdir(folder)).length === 1
  } finally {
    await opened.close()
  }
}

function messageFor(root: string): string {
  return `several hosts cannot serve ${root}: its client of the volume replaces a file that a program has open in two steps, first giving it a hidden name. A host that is cut off in between would leave the file without its name. NFS and SSHFS do so, and no mount option helps. Use another volume, such as GlusterFS, or serve the tree from one host, without tree.coordinator and --etcd`
}
