// What a landing takes of all files, and what stands in its way.
import { dirname } from 'node:path'
import { composeFile, type FileDependence, type LandedFile } from './compose-file.ts'
import { external } from '../../engine/versions/author.ts'
import type { LineChoice } from './compose-lines.ts'
import type { FileLog, GoneFile } from './file-log.ts'
import { mayBeOf, unknown, type Maker } from './maker.ts'

export interface Selection {
  readonly agent: string
  /** Only these changes of the agent, and what they rest on of its own. */
  readonly changeSet?: string | undefined
  /** Other agents whose changes are taken along. */
  readonly others: readonly string[]
  /** Whether changes are taken that another one may have made. */
  readonly includesUncertain: boolean
  /** Whether lines are taken that other agents have replaced since: as if they had not. */
  readonly includesOverwritten: boolean
}

export interface Landing {
  readonly files: readonly LandedFile[]
  /** If there are any, nothing can be landed. */
  readonly dependences: readonly FileDependence[]
  /** Change sets of the agent that are taken since others rest on them; undefined for changes of none. */
  readonly takenAlong: readonly (string | undefined)[]
  /** All whose changes are taken. */
  readonly agents: readonly string[]
  readonly changeSets: readonly string[]
  /** The changes that are taken. */
  readonly makers: readonly Maker[]
}

export function planLanding(logs: readonly FileLog[], selection: Selection, inTheWay: InTheWay): Landing {
  const { agent, changeSet, others, includesUncertain, includesOverwritten } = selection
  /** By their numbers. */
  const along = new Map<number, Maker>()
  const used = new Map<number, Maker>()
  const isSelected = (maker: Maker) =>
    (maker.isCertain || includesUncertain) &&
    (others.some((other) => mayBeOf(maker, other)) ||
      (mayBeOf(maker, agent) && (changeSet === undefined || maker.changeSet === changeSet || along.has(maker.seq))))
  const isChosen = (maker: Maker) => {
    const is = isSelected(maker)
    if (is) used.set(maker.seq, maker)
    return is
  }
  // What a person has taken out is out.
  const isUndone = ({ agentId, isCertain }: Maker) => includesOverwritten && isCertain && agentId !== external.agentId
  for (;;) {
    used.clear()
    const { files, dependences } = composeAll(logs, { isChosen, isUndone }, inTheWay)
    const own = dependences.map(({ on }) => on).filter((on) => on.agentId === agent && on.isCertain)
    const next = own.filter(({ seq }) => !along.has(seq))
    for (const maker of next) along.set(maker.seq, maker)
    if (next.length > 0) continue
    return {
      files,
      dependences,
      takenAlong: [...new Set([...along.values()].map((maker) => maker.changeSet))],
      // Who asks for what nobody can tell any more answers for it.
      agents: [...new Set([...used.values()].map(({ agentId }) => (agentId === unknown.agentId ? agent : agentId)))],
      changeSets: [...new Set([...used.values()].flatMap((maker) => maker.changeSet ?? []))],
      makers: [...used.values()]
    }
  }
}

function composeAll(logs: readonly FileLog[], choice: LineChoice<Maker>, inTheWay: InTheWay) {
  const composed = logs.map((log) => ({ log, ...composeFile(log, choice) }))
  const files = new Map<string, LandedFile>()
  for (const file of composed.flatMap((one) => one.files)) {
    // What a name gets counts, and not that another file gave it up.
    if (file.content !== undefined || !files.has(file.path)) files.set(file.path, file)
  }
  const given = new Set(
    composed.flatMap((one) => one.files.filter(({ content }) => content === undefined)).map(({ path }) => path)
  )
  const dependences = composed.flatMap((one) => one.dependences)
  for (const { log, files: own } of composed)
    for (const { path, content } of own) {
      const holder = logs.find((other) => other !== log && other.head?.path === path)
      if (content === undefined || holder === undefined || given.has(path)) continue
      // The name is that of a file which others have removed, or given another name.
      const [on] = takersOf(holder)
      dependences.push({ path, lines: undefined, on })
    }
  for (const { path, content } of files.values()) {
    if (content === undefined) continue
    const left = inTheWay(path).filter(({ head }) => !given.has(head.path))
    const on = left.flatMap(takersOf).find((maker) => !choice.isChosen(maker))
    // Git removes the files in the way, those that another agent has removed or renamed as well.
    if (on !== undefined) dependences.push({ path, lines: undefined, on })
  }
  return { files: [...files.values()], dependences }
}

const isGone = (log: FileLog | GoneFile): log is GoneFile => log.head !== undefined && log.head.path !== log.now?.path

/** Who has taken its name in HEAD from the file, which is not there any more. */
function takersOf({
  now,
  remover,
  renamers: [first = remover, ...others]
}: Omit<GoneFile, 'head'>): readonly [Maker, ...Maker[]] {
  return now === undefined ? [remover] : [first, ...others]
}

/** The files of HEAD that are not there any more, and whose names a file at the path excludes: one is a folder of the other. */
export type InTheWay = (path: string) => readonly GoneFile[]

/** @param logs also of files that are not to be landed */
export function findInTheWay(logs: readonly (FileLog | GoneFile)[]): InTheWay {
  const at = new Map<string, GoneFile>()
  const below = new Map<string, GoneFile[]>()
  for (const log of logs.filter(isGone)) {
    at.set(log.head.path, log)
    for (const folder of foldersOf(log.head.path)) {
      const others = below.get(folder)
      if (others === undefined) below.set(folder, [log])
      else others.push(log)
    }
  }
  return (path) => [...(below.get(path) ?? []), ...foldersOf(path).flatMap((folder) => at.get(folder) ?? [])]
}

function foldersOf(path: string): string[] {
  const folders: string[] = []
  for (let here = dirname(path); here !== dirname(here); here = dirname(here)) folders.push(here)
  return folders
}
