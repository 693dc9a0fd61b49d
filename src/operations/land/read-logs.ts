// The files that differ from HEAD, each with what the log knows of who has made it so.
import type { OperationContext } from '../../engine/call/context.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import { readLink } from '../../engine/files/links.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { headBlobs, readBlobs, type HeadFile as HeadBlob } from '../../support/project/head-blobs.ts'
import type { UnsavedFile } from '../../support/project/unsaved.ts'
import { pastCommits, readPastHeads, readSteady } from '../../support/project/past-heads.ts'
import { nameIn, type WorkTree } from '../../support/project/work-tree.ts'
import { readEntry } from '../change/entry-version.ts'
import { createSlices } from '../../support/slices.ts'
import { withLocks } from '../locking/with-locks.ts'
import { readLineages } from '../undo/lineages.ts'
import { findBase, madeAt, placesAsHead } from './base.ts'
import { concerns, findPaths, namesOf } from './find-paths.ts'
import { goneFrom, hasHeadMode, readFileLog, readShortLived, type FileLog, type GoneFile } from './file-log.ts'
import type { HeadFile, NowFile } from './file-states.ts'
import { withForgotten, type KnownLife } from './known-life.ts'
import { unknown } from './maker.ts'
import { findShortLived } from './short-lived.ts'

export interface TreeLog {
  readonly logs: readonly FileLog[]
  /** Files of HEAD of whose folders one is a file by now: no call reaches them, and a landing of that file removes them. */
  readonly replaced: readonly FileLog[]
  /** Names whose content in HEAD only a program of the repository can tell: nobody's lines are known there. */
  readonly filtered: readonly string[]
  /** Those of them that are not there any more. */
  readonly filteredGone: readonly GoneFile[]
  /** Paths at which the index has something else than HEAD. */
  readonly staged: ReadonlySet<string>
  /** Paths whose names are not UTF-8: no operation reaches them. */
  readonly unreachable: readonly string[]
}

/** What HEAD has at names that a filter applies to, by the name in Git, as the caller's own Git has it. */
export type Given = ReadonlyMap<string, Buffer>

export interface LogOptions {
  readonly given: Given
  /** Whose changes are to land as they were made, whatever others have made of them since. Default: those of no agent. */
  readonly asMadeBy?: readonly string[] | undefined
}

/** Of the files below the roots of this server. Their locks are held meanwhile, so that no change is seen half. */
export async function readLogs(
  context: OperationContext,
  tree: WorkTree,
  { given, asMadeBy }: LogOptions
): Promise<TreeLog> {
  const { paths, replaced, gone, unreachable, unsaved } = await findPaths(context, tree, asMadeBy)
  const targets = paths.map((path) => ({ path, mode: 'shared', reach: 'entry' }) as const)
  const options = { operation: 'land', timeout: context.config.crud.max_timeout }
  const staged = new Set([...unsaved].flatMap(([path, { isStaged }]) => (isStaged ? path : [])))
  const all = new Set([...paths, ...replaced, ...gone])
  if (all.size === 0) return { logs: [], replaced: [], filtered: [], filteredGone: [], staged, unreachable }
  const heads = await headsAt(tree, [...all], unsaved, context.signal)
  const read = async (places: readonly OpenEntry[]) => {
    const found = new Map<string, NowFile>()
    for (const place of places) {
      // What is neither in HEAD nor in the status is ignored, or in another repository.
      if (!unsaved.has(place.path) && !heads.has(place.path)) continue
      const now = await readNow(context, place, hasModes(tree))
      if (now !== undefined) found.set(place.path, now)
    }
    const { logs, ...others } = await readAll(context, tree, { paths: all, found, given, heads, asMadeBy })
    const isReplaced = ({ head, now }: FileLog) => now === undefined && head !== undefined && replaced.has(head.path)
    const [reached, ended] = [logs.filter((log) => !isReplaced(log)), logs.filter(isReplaced)]
    return { logs: reached, replaced: ended, ...others, staged, unreachable }
  }
  return targets.length === 0 ? read([]) : withLocks(context, targets, options, read)
}

/** What HEAD has, which is the same whatever others do: of most paths the status has said it. */
async function headsAt(
  tree: WorkTree,
  paths: readonly string[],
  unsaved: ReadonlyMap<string, UnsavedFile>,
  signal: AbortSignal
): Promise<Map<string, HeadBlob>> {
  const isTold = (path: string) => unsaved.has(path) && unsaved.get(path)?.isUnmerged !== true
  const heads = await headBlobs(
    tree,
    paths.filter((path) => !isTold(path)),
    signal
  )
  for (const path of paths.filter(isTold)) {
    const { head, headMode } = unsaved.get(path)!
    if (head !== undefined && headMode !== undefined) heads.set(path, { mode: headMode, blob: head })
  }
  return heads
}

function hasModes({ settings }: WorkTree): boolean {
  const value = settings.findLast(([key]) => key === 'core.filemode')?.[1] ?? 'true'
  return !/^(?:false|0|no|off)$/i.test(value)
}

async function readNow(context: OperationContext, place: OpenEntry, hasMode: boolean): Promise<NowFile | undefined> {
  const { path, stat } = place
  if (stat === undefined || place.isFolder) return undefined
  if (stat.isSymbolicLink()) return { path, bytes: Buffer.from(readLink(place)), isLink: true, isExecutable: undefined }
  if (!stat.isFile()) return undefined
  const { version } = await readEntry(context, place, path, true)
  const isExecutable = hasMode ? version && (version.mode & 0o100) !== 0 : undefined
  return version && { path, bytes: version.bytes, isLink: false, isExecutable }
}

interface Names extends LogOptions {
  readonly paths: ReadonlySet<string>
  readonly found: ReadonlyMap<string, NowFile>
  readonly heads: ReadonlyMap<string, HeadBlob>
}

async function readAll(
  context: OperationContext,
  tree: WorkTree,
  names: Names
): Promise<Pick<TreeLog, 'logs' | 'filtered' | 'filteredGone'>> {
  const { paths, found, asMadeBy } = names
  const { bases, signal } = context
  const { heads, filtered } = await readHeads(tree, names, signal)
  const headAt = (path: string) => heads.get(path)
  const bytesOf = (hash: string) => bases.get(hash)
  const isTold = (path: string) => !filtered.includes(path)
  const lives = (await readLineages(context)).filter((life) => concerns(life, paths))
  const filteredGone = filtered.flatMap((path) => (found.has(path) ? [] : goneFrom(path, lives)))
  const told = lives.filter((one) => namesOf(one).every(isTold))
  const known = told.map((lineage) => withForgotten(lineage, context.history))
  const hashes = new Map<Buffer, string>()
  const hashOf = (bytes: Buffer) => {
    const hash = hashes.get(bytes) ?? contentHash(bytes)
    hashes.set(bytes, hash)
    return hash
  }
  const plain = { headAt, hashOf, pastAt: () => [] }
  const commits = pastCommits(tree)
  const moved = commits[0]?.until ?? -Infinity
  const unsure = known.flatMap((life) => {
    const { isExact, next } = findBase(life, plain)
    // Where changes are older than HEAD, it can be as the file once was by chance.
    return isExact && (life.changes[next]?.version.at ?? Infinity) > moved ? [] : namesOf(life)
  })
  const past = await readPastHeads(
    tree,
    commits,
    [...new Set(unsure)].filter((path) => heads.has(path)),
    signal
  )
  const { pause } = createSlices(signal)
  const countsRestored = asMadeBy !== undefined
  const asHead = known.flatMap((life) => {
    const [first = Infinity] = countsRestored ? placesAsHead(life, plain) : []
    const [path, change] = [life.path, life.changes[first]]
    const isLast = first >= findBase(life, plain).next
    return change === undefined || isLast ? [] : { path, blob: names.heads.get(path)?.blob, since: madeAt(change) }
  })
  const steady = await readSteady(tree, asHead, signal)
  const facts = {
    ...plain,
    steadyAt: (path: string) => steady.get(path) ?? Infinity,
    bytesOf,
    hasModes: hasModes(tree),
    countsRestored,
    pause,
    pastAt: (path: string) => past.get(path) ?? []
  }
  const logs: FileLog[] = []
  const taken = new Set<string>()
  const add = async (lineage: KnownLife | undefined, path: string, now: NowFile | undefined) => {
    const log = await readFileLog(lineage, path, { ...facts, now })
    if (log === undefined) return
    logs.push(log)
    if (log.head !== undefined) taken.add(log.head.path)
    if (now !== undefined) taken.add(now.path)
  }
  const ended = known.filter((life) => !namesOf(life).some((name) => heads.has(name)))
  const shortLived = asMadeBy === undefined ? new Set() : await findShortLived(tree, ended, signal)
  for (const lineage of known) {
    const isThere = lineage.state.kind !== 'none'
    await add(lineage, lineage.path, isThere ? found.get(lineage.path) : undefined)
    const short = shortLived.has(lineage) ? await readShortLived(lineage, { ...facts, now: undefined }) : undefined
    if (short !== undefined) logs.push(short)
  }
  for (const path of paths)
    if (found.has(path) && !taken.has(path) && isTold(path)) await add(undefined, path, found.get(path))
  // What HEAD has at a name whose file nobody is known to have removed.
  for (const [path, head] of heads)
    if (!logs.some((log) => log.head?.path === path))
      logs.push({
        head,
        now: undefined,
        lines: undefined,
        contentMakers: [],
        creator: unknown,
        remover: unknown,
        before: undefined,
        renamers: [],
        modeMaker: undefined
      })
  const isChanged = ({ lines }: FileLog) =>
    lines?.lines.some(({ made, removed }) => made !== undefined || removed !== undefined) === true
  // What others have taken back is a change, too, if it is to land as it was made.
  const left = logs.filter((log) => differs(log) || (countsRestored && isChanged(log)))
  return { logs: left, filtered, filteredGone }
}

function differs({ head, now }: FileLog): boolean {
  if (head === undefined || now === undefined) return true
  return (
    head.path !== now.path || head.isLink !== now.isLink || !head.bytes.equals(now.bytes) || !hasHeadMode(head, now)
  )
}

async function readHeads(tree: WorkTree, { heads: entries, given }: Names, signal: AbortSignal) {
  const wanted = [...entries].map(([path, { mode, blob }]) => ({ path, mode, blob }))
  const bytes = await readBlobs(tree, wanted, signal)
  const heads = new Map<string, HeadFile>()
  const filtered: string[] = []
  for (const one of wanted) {
    const { path, mode } = one
    const known = bytes.get(one) ?? given.get(nameIn(tree, path))
    if (known === undefined) filtered.push(path)
    else heads.set(path, { path, mode, bytes: known, isLink: mode === '120000' })
  }
  return { heads, filtered }
}
