// What has become of one file since HEAD: its content, its names, whether it is there, and who has made each of these.
import type { LineageChange, State } from '../undo/lineages.ts'
import { findBase, isSame, isSameState } from './base.ts'
import { readLines, type FileFacts } from './file-lines.ts'
import type { Content, HeadFile, NowFile } from './file-states.ts'
import type { LineLog } from './logged-line.ts'
import type { KnownLife } from './known-life.ts'
import { forgottenMaker, makerOf, orExternal, unknown, type Maker } from './maker.ts'

export interface FileLog {
  readonly head: HeadFile | undefined
  readonly now: NowFile | undefined
  /** Undefined for what is no text: then all of its content has the makers of `contentMakers`. */
  readonly lines: LineLog<Maker> | undefined
  readonly contentMakers: readonly Maker[]
  /** Who has made it, if HEAD has no such file. */
  readonly creator: Maker
  /** Who has removed it, if it is gone. */
  readonly remover: Maker
  /** The same as it was before, if it is gone and that is known. */
  readonly before: FileLog | undefined
  /** Who has given it another name. */
  readonly renamers: readonly Maker[]
  /** Who has made it executable, or not any more; undefined if it is as in HEAD. */
  readonly modeMaker: Maker | undefined
}

/** What is to be known of a file that is not at its name in HEAD any more. */
export interface GoneFile extends Pick<FileLog, 'remover' | 'renamers'> {
  readonly head: Pick<HeadFile, 'path'>
  /** At another name. */
  readonly now: Pick<NowFile, 'path'> | undefined
}

/** Its name in HEAD, and the one that it has now; or else the last one that it had. */
export function namesOf({ head, now, before }: FileLog): string[] {
  return [head ?? before?.now, now].flatMap((one) => one?.path ?? [])
}

/** Whoever has made what differs from HEAD. */
export function makersOf(log: FileLog): readonly Maker[] {
  const { head, now, lines, contentMakers, creator, remover, renamers, modeMaker } = log
  const makers = new Set(lines === undefined ? [...contentMakers, ...renamers] : renamers)
  for (const { made, removed } of lines?.lines ?? []) {
    if (made !== undefined) makers.add(made.change)
    if (removed !== undefined) makers.add(removed.change)
  }
  if (head === undefined) makers.add(creator)
  if (now === undefined) makers.add(remover)
  if (modeMaker !== undefined) makers.add(modeMaker)
  return [...makers]
}

/** Undefined if it is in HEAD as it is in the tree. @param lineage undefined for a file that the log does not know */
export async function readFileLog(
  lineage: KnownLife | undefined,
  path: string,
  facts: FileFacts
): Promise<FileLog | undefined> {
  const { headAt, now, hashOf } = facts
  const changes = lineage?.changes ?? []
  const base = findBase(lineage, facts)
  const head = base.path === undefined ? headAt(path) : headAt(base.path)
  if (head === undefined && now === undefined) return undefined
  const since = changes.slice(base.next)
  const makers = since.map(({ version }) => makerOf(version))
  const isKnown = lineage !== undefined && isSameState(lineage.state, now, hashOf)
  const early = forgottenMaker(lineage?.forgotten ?? [])
  const contents = since.filter(({ before, after }) => after.kind !== 'none' && !isSame(before, after))
  return {
    head,
    now,
    lines: await readLines(head, now, { changes, base, isKnown, early }, facts),
    contentMakers: base.isExact && isKnown ? contents.map(({ version }) => makerOf(version)) : [early],
    creator: makers[since.findIndex(({ before, after }) => before.kind === 'none' && after.kind !== 'none')] ?? unknown,
    remover: removerOf(since.at(-1)),
    before: now === undefined ? await readBefore(lineage, since, facts) : undefined,
    modeMaker: hasHeadMode(head, now) ? undefined : modeMakerOf(changes, now),
    renamers: since.flatMap(({ from, path: to, before }, index) =>
      from !== to && before.kind !== 'none' ? [makers[index]!] : []
    )
  }
}

/** Of a file that neither HEAD nor the tree has. Undefined if it is not known what it was before it was removed. */
export async function readShortLived(lineage: KnownLife, facts: FileFacts): Promise<FileLog | undefined> {
  const before = await readBefore(lineage, lineage.changes, facts)
  return (
    before && {
      head: undefined,
      now: undefined,
      lines: undefined,
      contentMakers: [],
      creator: before.creator,
      remover: removerOf(lineage.changes.at(-1)),
      before,
      renamers: [],
      modeMaker: undefined
    }
  )
}

/** As if its last change, which has removed it, had not happened. */
async function readBefore(
  lineage: KnownLife | undefined,
  since: readonly LineageChange[],
  facts: FileFacts
): Promise<FileLog | undefined> {
  const last = since.at(-1)
  if (lineage === undefined || last?.after.kind !== 'none') return undefined
  const { from: path, before: state } = last
  const content = await contentOf(state, facts)
  if (content === undefined) return undefined
  const mode = state.kind === 'file' && facts.hasModes ? state.mode : undefined
  const now: NowFile = { path, ...content, isExecutable: mode === undefined ? undefined : isExecutable(mode) }
  return readFileLog({ ...lineage, path, state, changes: lineage.changes.slice(0, -1) }, path, { ...facts, now })
}

/** Undefined if it is not known. */
async function contentOf(state: State, { bytesOf }: FileFacts): Promise<Content | undefined> {
  if (state.kind === 'link') return { bytes: Buffer.from(state.target), isLink: true }
  const bytes = state.kind === 'file' ? await bytesOf(state.hash) : undefined
  return bytes && { bytes, isLink: false }
}

function removerOf(last: LineageChange | undefined): Maker {
  return last?.after.kind === 'none' ? takerOf(last) : unknown
}

/** Who has taken the file away by this change, or given it another name. */
function takerOf({ before, version }: LineageChange): Maker {
  return before.kind === 'unknown' ? orExternal(makerOf(version)) : makerOf(version)
}

/** The same of a file of HEAD that is not at its name any more, and whose content nobody can tell here. */
export function goneFrom(path: string, lives: readonly KnownLife[]): GoneFile {
  const leaves = ({ from, path: to, after }: LineageChange) => from === path && (to !== path || after.kind === 'none')
  const changes = lives.flatMap((life) => life.changes.filter(leaves))
  const last = changes.reduce<LineageChange | undefined>(
    (newest, change) => (newest === undefined || change.version.seq > newest.version.seq ? change : newest),
    undefined
  )
  return { head: { path }, now: undefined, remover: last === undefined ? unknown : takerOf(last), renamers: [] }
}

export function hasHeadMode(head: HeadFile | undefined, now: NowFile | undefined): boolean {
  if (head === undefined || now === undefined || head.isLink || now.isLink) return true
  return now.isExecutable === undefined || now.isExecutable === (head.mode === '100755')
}

const isExecutable = (mode: number) => (mode & 0o100) !== 0

/** The last one that is known to have made it what it is. Other programs may have changed it unseen, but then to and fro. */
function modeMakerOf(changes: readonly LineageChange[], now: NowFile | undefined): Maker {
  const last = changes.findLast(({ version: { modes } }) => {
    const [before, since] = modes?.map(isExecutable) ?? []
    return before !== since
  })
  const [, since] = last?.version.modes ?? []
  return since !== undefined && isExecutable(since) === now?.isExecutable ? makerOf(last!.version) : unknown
}
