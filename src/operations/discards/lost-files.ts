// Which files would lose uncommitted lines of others, with the blobs that tell what is committed and what a command leaves.
import type { OperationContext } from '../../engine/call/context.ts'
import type { History } from '../../engine/versions/history.ts'
import { readBlobs, type WantedBlob } from '../../support/project/head-blobs.ts'
import type { Unsaved } from '../../support/project/unsaved.ts'
import { leftBlob, type Left, type Look, type Taken } from './discard.ts'
import { findLost, type Content } from './lost-lines.ts'
import type { LostFile } from './words.ts'

export interface TakenFile extends Taken {
  /** Undefined without a repository. */
  readonly look: Look | undefined
  /** The blob that HEAD has. */
  readonly head: string | undefined
}

interface Parts {
  readonly unsavedOf: ReadonlyMap<Look, Unsaved>
  readonly shownOf: (path: string) => string
  readonly signal: AbortSignal
}

interface Sources extends Pick<Parts, 'unsavedOf'> {
  readonly history: History
}

type Judged = readonly (readonly [path: string, file: TakenFile])[]

export async function findLostFiles(
  context: OperationContext,
  agentId: string,
  judged: Judged,
  { unsavedOf, shownOf, signal }: Parts
): Promise<Map<string, LostFile>> {
  const sources = { history: context.history, unsavedOf }
  const blobs = await readAll(judged, sources, signal)
  const lost = new Map<string, LostFile>()
  for (const [path, file] of judged) {
    const contentOf = (left: Left): Content =>
      left === 'nothing' ? null : left === 'unknown' ? undefined : blobs.get(keyOf(path, left.blob))
    const change = { head: contentOf(headOf(path, file, sources)), left: contentOf(file.left) }
    const lines = await findLost(context, agentId, path, change)
    if (lines.size > 0) lost.set(path, { shown: shownOf(path), lost: lines })
  }
  return lost
}

/** What was renamed is in HEAD under its old name: only what has changed of it is lost. */
function headOf(path: string, { head, look, renamedFrom }: TakenFile, { history, unsavedOf }: Sources): Left {
  const from = renamedFrom ?? history.versions(path).findLast((version) => version.renamedFrom)?.renamedFrom
  const before = look === undefined || from === undefined ? undefined : unsavedOf.get(look)?.files.get(from)
  return leftBlob(head ?? before?.head)
}

async function readAll(
  judged: Judged,
  sources: Sources,
  signal: AbortSignal
): Promise<Map<string, Buffer | undefined>> {
  const wanted = new Map<Look, WantedBlob[]>()
  for (const [path, file] of judged)
    for (const one of [file.left, headOf(path, file, sources)]) {
      if (typeof one !== 'object' || file.look === undefined) continue
      const known = wanted.get(file.look)
      if (known === undefined) wanted.set(file.look, [{ path, blob: one.blob }])
      else known.push({ path, blob: one.blob })
    }
  const found = new Map<string, Buffer | undefined>()
  for (const [{ tree }, blobs] of wanted)
    for (const [{ path, blob }, bytes] of await readBlobs(tree, blobs, signal)) found.set(keyOf(path, blob), bytes)
  return found
}

/** Conversions of line ends depend on the path. */
function keyOf(path: string, blob: string): string {
  return `${blob} ${path}`
}
