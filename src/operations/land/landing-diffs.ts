// What a landing would commit, as differences from HEAD, file by file.
import { join } from 'node:path'
import type { LandDiff } from '../../../schemas/land.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { headBlobs, readBlobs } from '../../support/project/head-blobs.ts'
import { createRoom } from '../change/answer-room.ts'
import { previewDiff } from '../change/preview-diff.ts'
import type { Prepared } from './prepare.ts'

export async function landingDiffs(context: OperationContext, { tree, files }: Prepared): Promise<LandDiff[]> {
  const { signal, config } = context
  const paths = files.map(({ name }) => join(tree.workTree, name))
  const wanted = Array.from(await headBlobs(tree, paths, signal), ([path, { blob }]) => ({ path, blob }))
  const heads = await readBlobs(tree, wanted, signal)
  const headOf = new Map(wanted.map((one) => [one.path, heads.get(one)]))
  const textOf = (bytes: Buffer | undefined, path: string) => decodeIfText(bytes, config.crud.default_encoding, path)
  const room = createRoom(context)
  const diffs: LandDiff[] = []
  for (const [index, { name, bytes }] of files.entries()) {
    const path = paths[index]!
    const base = headOf.has(path) ? textOf(headOf.get(path), path) : ''
    const next = bytes === undefined ? '' : textOf(bytes, path)
    const diff = base === undefined || next === undefined ? null : await previewDiff(context, base, next)
    diffs.push({ path: name, diff: room(diff) ? diff : null })
  }
  return diffs
}
