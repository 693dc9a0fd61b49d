// Plans another content of a file: checks the expected version, and merges if the caller wants that.
import type { OperationContext } from '../../engine/call/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { largeBytes, largeTurn } from '../../support/large-work.ts'
import type { Attempt } from './contention.ts'
import type { VersionedOperation } from './contention-words.ts'
import { readVersion } from './file-version.ts'
import { outcomeOf, type PathPlan } from './plan.ts'
import { exclusive, type Planner } from './planner.ts'
import { findStale, mergeStale, type Rebased, type StaleChange } from './stale-change.ts'
import type { VersionTexts } from './version-texts.ts'

export interface ContentChange {
  readonly operation: VersionedOperation
  /** As the caller spelt it. */
  readonly path: string
  readonly fencingToken: number | undefined
  readonly texts: VersionTexts
  readonly attempt?: Attempt | undefined
  /** The version that the change is meant for; undefined accepts any version. Throws if the call must name one. */
  readonly expectedHash: (place: OpenEntry, current: FileVersion) => string | undefined | Promise<string | undefined>
  /** What is put there if there is no file. Default: FILE_NOT_FOUND. */
  readonly create?: (place: OpenEntry) => Creation | Promise<Creation>
  /** The text or bytes that it makes of a version. */
  readonly change: (version: Buffer) => Promise<string | Buffer>
  /** What to do if the file is another version: `merge`, else nothing is written. */
  readonly onContention?: string | undefined
  /** How the change is merged. Default: line by line, with the text that it makes of the expected version. */
  readonly merge?: (stale: StaleChange) => Promise<Rebased>
  /** What it makes of a file beside an earlier change of the same call. Default: the change of what that one makes. */
  readonly beside?: (entered: PathPlan, bytes: Buffer) => Promise<Buffer>
  /** True if the caller has sent all of the new version. */
  readonly isSent?: boolean
  /** True if the caller knows which version is there, though it may not have seen it. Default: if it named the one that it changed. */
  readonly isNamed?: boolean
}

export interface Creation {
  readonly bytes: Buffer
  readonly createDirs: boolean
  /** Permission bits of a file that was there before. */
  readonly mode?: number | undefined
  /** The target, if a symbolic link is put there. */
  readonly link?: string
}

/** Reading, changing or merging, writing. */
const contentSteps = 3

export function planContent(change: ContentChange, context: OperationContext): Planner {
  const { operation, path, texts, attempt, create, isSent = false } = change
  const kind = operation.replace('async_', '')
  const { merge = (stale) => mergeStale(context, stale, texts, textOf) } = change
  const report = (message: string, done: number) => context.progress?.({ message, done, total: contentSteps })

  async function bytesOf(version: Buffer): Promise<Buffer> {
    if (version.length > largeBytes) await largeTurn()
    const content = await change.change(version)
    if (content.length > largeBytes) await largeTurn()
    return typeof content === 'string' ? texts.encode(content, version) : content
  }

  async function textOf(version: Buffer): Promise<string> {
    if (version.length > largeBytes) await largeTurn()
    const content = await change.change(version)
    return typeof content === 'string' ? content : texts.decode(content)
  }

  async function rebase(stale: StaleChange): Promise<Rebased> {
    return change.onContention === 'merge' ? merge(stale) : { notMerged: undefined }
  }

  async function together(entered: PathPlan, bytes: Buffer): Promise<Buffer> {
    if (entered.after?.kind !== 'bytes') return bytes
    return change.beside === undefined ? bytesOf(entered.after.bytes) : change.beside(entered, bytes)
  }

  return {
    operation,
    texts,
    attempt,
    bytesOf,
    targets: [exclusive(path, change.fencingToken)],
    async plan([place], plan, index) {
      const entered = plan.enter(place!, path, kind, index)
      if (place!.stat === undefined && create !== undefined) {
        if (entered.after?.kind === 'bytes') await plan.give(entered, await bytesOf(entered.after.bytes))
        else {
          const { bytes, createDirs, mode, link } = await create(place!)
          entered.createDirs = createDirs
          entered.sight = change.isNamed === true ? 'named' : 'sent'
          if (link === undefined) await plan.give(entered, bytes, mode)
          else entered.after = { kind: 'link', target: link }
        }
        return { plan: entered }
      }
      report(`reading ${path}`, 0)
      const current = (entered.current ??= await readVersion(context, place!, path))
      const expected = await change.expectedHash(place!, current)
      const stale = findStale(context, place!, path, current, expected)
      report(`${stale === undefined ? 'changing' : 'merging'} ${path}`, 1)
      const next =
        stale === undefined ? { bytes: await bytesOf(current.bytes), merged: undefined } : await rebase(stale)
      if ('notMerged' in next) return { stale: stale!, notMerged: next.notMerged }
      await plan.give(entered, await together(entered, next.bytes))
      // What the caller knows of a merged version, its answer decides.
      const isNamed = change.isNamed ?? expected !== undefined
      entered.sight = next.merged !== undefined ? undefined : isSent ? 'sent' : isNamed ? 'named' : undefined
      if (entered.after?.kind === 'bytes' && entered.after.hash !== current.hash) report(`writing ${path}`, 2)
      return { plan: entered, merged: next.merged }
    },
    onMade({ plan }) {
      const { changed } = outcomeOf(plan, context)
      report(changed ? `wrote ${path}` : `${path} stays as it is`, contentSteps)
    }
  }
}
