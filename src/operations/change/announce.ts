// Notes in the receipt of a call, right before its change, what it is about to do and will be answered.
import type { OperationContext } from '../../engine/context.ts'
import type { AnnounceWrite } from '../../engine/commit/write-file.ts'
import { nodeOf } from '../../engine/commit/intent.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'

type Receipted = Pick<OperationContext, 'receipt'>

/** @param before hash of the version that is replaced; null for a file that is created */
export function announceWrite(
  { receipt }: Receipted,
  { path }: OpenEntry,
  hashes: { readonly before: string | null; readonly after: string },
  answer: () => object
): AnnounceWrite | undefined {
  if (receipt === undefined) return undefined
  return ({ name, stat }) =>
    receipt.begin({ kind: 'write', path, staged: name, node: nodeOf(stat), ...hashes }, answer())
}

export function announceDelete(
  { receipt }: Receipted,
  { path, directory, name }: OpenEntry,
  answer: () => object
): (() => void) | undefined {
  if (receipt === undefined) return undefined
  return () => {
    const stat = directory.stat(name)
    if (stat !== undefined) receipt.begin({ kind: 'delete', path, node: nodeOf(stat) }, answer())
  }
}

export function announceRename(
  { receipt }: Receipted,
  { path, directory, name }: OpenEntry,
  to: OpenEntry,
  answer: () => object
): (() => void) | undefined {
  if (receipt === undefined) return undefined
  return () => {
    const stat = directory.stat(name)
    if (stat !== undefined) receipt.begin({ kind: 'rename', from: path, to: to.path, node: nodeOf(stat) }, answer())
  }
}
