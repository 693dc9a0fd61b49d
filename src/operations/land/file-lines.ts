// The lines of one file since HEAD, each with who has made it and who has taken it away.
import { external } from '../../engine/versions/author.ts'
import { splitLines } from '../../engine/diff/lines.ts'
import type { LineageChange, State } from '../undo/lineages.ts'
import { isSame, type Base, type BaseFacts } from './base.ts'
import type { HeadFile, NowFile } from './file-states.ts'
import { findLanded } from './find-landed.ts'
import type { Stage } from './add-stage.ts'
import { beginLineLog, withHead, withLanded } from './line-log.ts'
import type { LineLog } from './logged-line.ts'
import { forgottenMaker, makerOf, orExternal, unknown, type Maker } from './maker.ts'
import type { Places } from './slide-hunks.ts'

export interface FileFacts extends BaseFacts {
  /** What is at the file's name now. */
  readonly now: NowFile | undefined
  /** The bytes of a version; undefined if they are not kept. */
  readonly bytesOf: (hash: string) => Promise<Buffer | undefined>
  /** Whether the repository takes notice of modes. */
  readonly hasModes: boolean
  /** As of `LineRules`. */
  readonly countsRestored: boolean
  /** Lets others have their turn. */
  readonly pause: () => Promise<void>
}

/** What is known of a file since HEAD. */
export interface Since {
  readonly changes: readonly LineageChange[]
  readonly base: Base
  /** True if the last change made what is there now. */
  readonly isKnown: boolean
  /** Who has made what is older than all of them. */
  readonly early: Maker
}

/** Undefined for what is no text, or not there. */
export async function readLines(
  head: HeadFile | undefined,
  now: NowFile | undefined,
  since: Since,
  facts: FileFacts
): Promise<LineLog<Maker> | undefined> {
  const readAt = (places: Places) => readLinesAt(places, head, now, since, facts)
  const log = await readAt('last')
  if (log === undefined || log.doubts.length === 0) return log
  const others = [await readAt('first'), await readAt('mixed')]
  return { ...log, others: others.filter((other) => other !== undefined) }
}

async function readLinesAt(
  places: Places,
  head: HeadFile | undefined,
  now: NowFile | undefined,
  { changes, base: { next, isExact, past }, isKnown, early }: Since,
  { bytesOf, countsRestored, hashOf, pastAt, pause }: FileFacts
): Promise<LineLog<Maker> | undefined> {
  if (now === undefined || head?.isLink === true || now.isLink) return undefined
  const [headLines, nowLines] = [head === undefined ? [] : linesOf(head.bytes), linesOf(now.bytes)]
  if (headLines === undefined || nowLines === undefined) return undefined
  const textOf = async (state: State | undefined) => {
    if (state?.kind === 'none') return []
    const bytes = state?.kind === 'file' ? await bytesOf(state.hash) : undefined
    return bytes && linesOf(bytes)
  }
  const rules = { isSame: isSameMaker, restores: isPerson, takesBack, countsRestored, places }
  const first = isExact ? headLines : past === undefined ? await textOf(changes[0]?.before) : linesOf(past.bytes)
  const stagesFrom = async (from: number) => {
    const stages: Stage<Maker>[] = []
    /** Whose texts are not kept, since the last one that is. */
    let skipped: Maker[] = []
    for (const change of changes.slice(from)) {
      const { version, before, after } = change
      if (after.kind === 'none' || isSame(before, after)) continue
      const maker = makerOf(version)
      const lines = isKnown && change === changes.at(-1) ? nowLines : await textOf(after)
      if (lines === undefined) skipped.push(maker)
      else {
        const isOne = skipped.every(({ agentId, isCertain }) => isCertain && agentId === maker.agentId)
        stages.push({ change: isOne ? maker : forgottenMaker([...skipped, maker].flatMap(agentsOf)), lines })
        skipped = []
      }
    }
    if (!isKnown || skipped.length > 0 || stages.length === 0) stages.push({ change: unknown, lines: nowLines })
    return stages
  }
  const logOf = async (from: readonly string[], all: readonly Stage<Maker>[]) => {
    const log = beginLineLog(from, rules)
    for (const stage of all) {
      await pause()
      log.add(stage)
    }
    return log.end()
  }
  const landed = head && findLanded(changes, head, pastAt(head.path), hashOf)
  const before = landed && linesOf(landed.bytes)
  if (landed !== undefined && before !== undefined)
    for (const from of countsRestored ? landed.nexts : landed.nexts.slice(0, 1)) {
      const log = await logOf(before, await stagesFrom(from))
      const known = withLanded(log, headLines, landed.isLanded, unknown, rules)
      if (known !== undefined) return known
    }
  const stages = await stagesFrom(next)
  if (first === undefined) {
    // Of the first text that is kept nobody can tell what was there before.
    const [begin, ...others] = stages
    const makers = orExternal(begin!.change)
    const foreign = early === unknown ? makers : forgottenMaker([...agentsOf(early), ...agentsOf(makers)])
    return withHead(await logOf(begin!.lines, others), headLines, foreign, rules)
  }
  const log = await logOf(first, stages)
  return isExact ? log : withHead(log, headLines, past === undefined ? early : unknown, rules)
}

function agentsOf({ agentId, agents = [agentId] }: Maker): readonly string[] {
  return agents
}

/** People, and Git when they ask it to. */
function isPerson({ agentId, isCertain }: Maker): boolean {
  return isCertain && agentId === external.agentId
}

function takesBack({ takesBack = [] }: Maker, { seq }: Maker): boolean {
  return takesBack.includes(seq)
}

function isSameMaker(one: Maker, other: Maker): boolean {
  return one.isCertain && other.isCertain && one.agentId === other.agentId
}

/** Each byte a character, so that every text comes back as it was; undefined for what Git takes for no text. */
export function linesOf(bytes: Buffer): string[] | undefined {
  return bytes.includes(0) ? undefined : splitLines(bytes.toString('latin1'))
}
