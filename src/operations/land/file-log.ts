// What has become of one file since HEAD: its content, its names, whether it is there, and who has made each of these.
import { external } from '../../engine/versions/history.ts'
import { splitLines } from '../../engine/diff/lines.ts'
import type { LineageChange, State } from '../undo/lineages.ts'
import { createLineLog, withHead, type LineLog, type Stage } from './line-log.ts'
import type { KnownLife } from './known-life.ts'
import { forgottenMaker, makerOf, orExternal, unknown, type Maker } from './maker.ts'

/** A file, or a link: then the bytes are its target. */
export interface Content {
  readonly bytes: Buffer
  readonly isLink: boolean
}

export interface HeadFile extends Content {
  /** Absolute, as all paths here. */
  readonly path: string
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
}

export interface NowFile extends Content {
  readonly path: string
  /** Undefined if the repository takes no notice of modes: then it is as in HEAD. */
  readonly isExecutable: boolean | undefined
}

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

/** Whoever has made what differs from HEAD. */
export function makersOf(log: FileLog): Maker[] {
  const { head, now, lines, contentMakers, creator, remover, renamers, modeMaker } = log
  const ofLines = lines?.lines.flatMap(({ made, removed }) => [made?.change, removed?.change]) ?? contentMakers
  const ofFile = [...(head === undefined ? [creator] : []), ...(now === undefined ? [remover] : [])]
  const others = [...ofFile, ...renamers, modeMaker]
  return [...ofLines, ...others].filter((maker) => maker !== undefined)
}

export interface FileFacts {
  /** What HEAD has at a path. */
  readonly headAt: (path: string) => HeadFile | undefined
  /** What is at the file's name now. */
  readonly now: NowFile | undefined
  /** The bytes of a version; undefined if they are not kept. */
  readonly bytesOf: (hash: string) => Promise<Buffer | undefined>
  readonly hashOf: (bytes: Buffer) => string
  /** As of `LineRules`. */
  readonly countsRestored: boolean
}

/** Undefined if it is in HEAD as it is in the tree. @param lineage undefined for a file that the log does not know */
export async function readFileLog(
  lineage: KnownLife | undefined,
  path: string,
  facts: FileFacts
): Promise<FileLog | undefined> {
  const { headAt, now, hashOf } = facts
  const changes = lineage?.changes ?? []
  const base = findBase(lineage, changes, headAt, hashOf)
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
    lines: await readLines(head, now, { changes, next: base.next, isExact: base.isExact, isKnown, early }, facts),
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

/** As if its last change, which has removed it, had not happened. */
async function readBefore(
  lineage: KnownLife | undefined,
  since: readonly LineageChange[],
  facts: FileFacts
): Promise<FileLog | undefined> {
  const last = since.at(-1)
  if (lineage === undefined || last?.after.kind !== 'none' || last.before.kind !== 'file') return undefined
  const { from: path, before: state } = last
  const bytes = await facts.bytesOf(state.hash)
  if (bytes === undefined) return undefined
  const now: NowFile = { path, bytes, isLink: false, isExecutable: undefined }
  return readFileLog({ ...lineage, path, state, changes: lineage.changes.slice(0, -1) }, path, { ...facts, now })
}

function removerOf(last: LineageChange | undefined): Maker {
  if (last?.after.kind !== 'none') return unknown
  return last.before.kind === 'unknown' ? orExternal(makerOf(last.version)) : makerOf(last.version)
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

interface Base {
  /** The name that HEAD has; undefined if HEAD has none of its names. */
  readonly path: string | undefined
  /** The first change that is not in HEAD, as far as is known. */
  readonly next: number
  /** True if HEAD has exactly what the file was then. */
  readonly isExact: boolean
}

/**
 * The newest state that HEAD has; else the oldest that is known. Where another program has made the file what HEAD has, and then changed
 * it again, it may have put aside what it has brought back since, as git stash does.
 */
function findBase(
  lineage: KnownLife | undefined,
  changes: readonly LineageChange[],
  headAt: FileFacts['headAt'],
  hashOf: FileFacts['hashOf']
): Base {
  const first = changes[0]
  if (lineage === undefined) return { path: undefined, next: 0, isExact: false }
  if (first === undefined)
    return { path: lineage.path, next: 0, isExact: isInHead(lineage.state, headAt(lineage.path), hashOf) }
  const lastExternal = changes.findLastIndex(isExternal)
  for (let index = changes.length - 1; index >= 0; index -= 1) {
    const { path, after } = changes[index]!
    if (index < lastExternal && isExternal(changes[index]!)) continue
    if (after.kind !== 'none' && isInHead(after, headAt(path), hashOf)) return { path, next: index + 1, isExact: true }
  }
  if (isInHead(first.before, headAt(first.from), hashOf)) return { path: first.from, next: 0, isExact: true }
  const names = [first.from, ...changes.map(({ path }) => path)]
  const path = names.find((name) => headAt(name) !== undefined)
  return { path, next: 0, isExact: path === undefined && first.before.kind === 'none' }
}

const isExternal = ({ version }: LineageChange) => version.agentId === external.agentId

function isInHead(state: State, head: HeadFile | undefined, hashOf: FileFacts['hashOf']): boolean {
  if (head === undefined) return false
  if (state.kind === 'link') return head.isLink && head.bytes.toString() === state.target
  return state.kind === 'file' && !head.isLink && hashOf(head.bytes) === state.hash
}

function isSameState(state: State, now: NowFile | undefined, hashOf: FileFacts['hashOf']): boolean {
  if (now === undefined) return state.kind === 'none'
  if (now.isLink) return state.kind === 'link' && state.target === now.bytes.toString()
  return state.kind === 'file' && state.hash === hashOf(now.bytes)
}

function isSame(one: State, other: State): boolean {
  if (one.kind === 'file') return other.kind === 'file' && one.hash === other.hash
  return one.kind === 'link' && other.kind === 'link' && one.target === other.target
}

interface Since {
  readonly changes: readonly LineageChange[]
  readonly next: number
  readonly isExact: boolean
  /** True if the last change made what is there now. */
  readonly isKnown: boolean
  /** Who has made what is older than all of them. */
  readonly early: Maker
}

async function readLines(
  head: HeadFile | undefined,
  now: NowFile | undefined,
  { changes, next, isExact, isKnown, early }: Since,
  { bytesOf, countsRestored }: FileFacts
): Promise<LineLog<Maker> | undefined> {
  if (now === undefined || head?.isLink === true || now.isLink) return undefined
  const [headLines, nowLines] = [head === undefined ? [] : linesOf(head.bytes), linesOf(now.bytes)]
  if (headLines === undefined || nowLines === undefined) return undefined
  const textOf = async (state: State | undefined) => {
    if (state?.kind === 'none') return []
    const bytes = state?.kind === 'file' ? await bytesOf(state.hash) : undefined
    return bytes && linesOf(bytes)
  }
  const rules = { isSame: isSameMaker, countsRestored }
  const first = isExact ? headLines : await textOf(changes[0]?.before)
  const stages: Stage<Maker>[] = []
  /** Whose texts are not kept, since the last one that is. */
  let skipped: Maker[] = []
  for (const change of changes.slice(next)) {
    const { version, before, after } = change
    if (after.kind === 'none' || isSame(before, after)) continue
    const maker = makerOf(version)
    const lines = isKnown && change === changes.at(-1) ? nowLines : await textOf(after)
    if (lines === undefined) skipped.push(maker)
    else {
      const isOne = skipped.every(({ agentId, isCertain }) => isCertain && agentId === maker.agentId)
      stages.push({ change: isOne ? maker : forgottenMaker([...skipped, maker].flatMap(namesOf)), lines })
      skipped = []
    }
  }
  if (!isKnown || skipped.length > 0 || stages.length === 0) stages.push({ change: unknown, lines: nowLines })
  if (first === undefined) {
    // Of the first text that is kept nobody can tell what was there before.
    const [begin, ...others] = stages
    const makers = orExternal(begin!.change)
    const foreign = early === unknown ? makers : forgottenMaker([...namesOf(early), ...namesOf(makers)])
    return withHead(createLineLog(begin!.lines, others, rules), headLines, foreign, rules)
  }
  const log = createLineLog(first, stages, rules)
  return isExact ? log : withHead(log, headLines, early, rules)
}

function namesOf({ agentId, agents = [agentId] }: Maker): readonly string[] {
  return agents
}

function isSameMaker(one: Maker, other: Maker): boolean {
  return one.isCertain && other.isCertain && one.agentId === other.agentId
}

/** Each byte a character, so that every text comes back as it was; undefined for what Git takes for no text. */
function linesOf(bytes: Buffer): string[] | undefined {
  return bytes.includes(0) ? undefined : splitLines(bytes.toString('latin1'))
}
