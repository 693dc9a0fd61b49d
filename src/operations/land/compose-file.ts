// HEAD's file with what chosen changes have made of it, or what these rest on.
import { composeLines, type LineChoice } from './compose-lines.ts'
import { makersOf, namesOf, type FileLog } from './file-log.ts'
import type { Content } from './file-states.ts'
import type { Hunk, LineLog } from './logged-line.ts'
import type { Maker } from './maker.ts'

/** What a path of the commit has. */
export interface LandedFile {
  readonly path: string
  /** Undefined if it is removed. */
  readonly content: Content | undefined
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
}

export interface FileDependence {
  readonly path: string
  /** 1-based, in the file as it is; undefined if the whole file is meant. */
  readonly lines: { readonly start: number; readonly end: number } | undefined
  readonly on: Maker
}

export interface ComposedFile {
  /** What differs from HEAD. */
  readonly files: readonly LandedFile[]
  readonly dependences: readonly FileDependence[]
}

const nothing: ComposedFile = { files: [], dependences: [] }

export function composeFile(log: FileLog, choice: LineChoice<Maker>): ComposedFile {
  const { isChosen, isUndone = () => false } = choice
  const { head, now, creator, remover, renamers, modeMaker, before } = log
  if (now === undefined) {
    const former = isUndone(remover) ? before : undefined
    if (!isChosen(remover)) return former === undefined ? nothing : composeFile(former, choice)
    const others = former === undefined ? [] : othersIn(former, isChosen, isUndone)
    return {
      // What is not in HEAD yet cannot be removed from it: its creation comes first.
      files: head === undefined ? [] : [{ path: head.path, content: undefined, mode: head.mode }],
      dependences: namesOf(log).flatMap((path) => others.map((on) => ({ path, lines: undefined, on })))
    }
  }
  const { content, isChanged, dependences } = composeContent(log, choice)
  const whole = (makers: readonly Maker[]): FileDependence[] =>
    makers.filter((maker) => !isChosen(maker)).map((on) => ({ path: now.path, lines: undefined, on }))
  if (head === undefined) {
    if (!isChanged && !isChosen(creator)) return { files: [], dependences }
    const mode = now.isLink ? '120000' : modeOf(now.isExecutable === true)
    return { files: [{ path: now.path, content, mode }], dependences: [...whole([creator]), ...dependences] }
  }
  const isMoved = head.path !== now.path && renamers.some(isChosen)
  const hasOtherMode = modeMaker !== undefined && isChosen(modeMaker)
  if (!isMoved && !isChanged && !hasOtherMode) return { files: [], dependences }
  const ofHead = head.mode === '120000' ? modeOf(now.isExecutable === true) : head.mode
  const mode = content.isLink ? '120000' : hasOtherMode ? modeOf(now.isExecutable === true) : ofHead
  const files: LandedFile[] = [{ path: isMoved ? now.path : head.path, content, mode }]
  if (isMoved) files.push({ path: head.path, content: undefined, mode: head.mode })
  return { files, dependences: [...(isMoved ? whole(renamers) : []), ...dependences] }
}

/** One maker of each other agent whose changes of a file land before its removal does. */
function othersIn(before: FileLog, isChosen: Chooses, isUndone: Chooses): Maker[] {
  const others = makersOf(before).filter((maker) => isUndone(maker) && !isChosen(maker))
  const one = new Map(others.map((maker) => [maker.agentId, maker]))
  return [...one.values()].filter(({ agentId }) => {
    const isOwn = (maker: Maker) => maker.agentId === agentId && others.includes(maker)
    return composeFile(before, { isChosen: isOwn, isUndone }).files.length > 0
  })
}

type Chooses = (maker: Maker) => boolean

function modeOf(isExecutable: boolean): string {
  return isExecutable ? '100755' : '100644'
}

function composeContent({ head, now, lines, contentMakers }: FileLog, choice: LineChoice<Maker>) {
  const { isChosen } = choice
  const current = now as NonNullable<typeof now>
  if (lines !== undefined) {
    const { lines: composed, isChanged, dependences } = composeLines(lines, choice)
    const numbers = numbersOf(lines)
    return {
      content: { bytes: Buffer.from(composed.join(''), 'latin1'), isLink: false },
      isChanged,
      dependences: dependences.map(({ hunk, on }) => ({ path: current.path, lines: rangeOf(hunk, numbers), on }))
    }
  }
  const isSame = head !== undefined && head.isLink === current.isLink && head.bytes.equals(current.bytes)
  const isChanged = !isSame && contentMakers.some(isChosen)
  return {
    content: isChanged ? current : (head ?? current),
    isChanged,
    dependences: isChanged
      ? contentMakers.filter((maker) => !isChosen(maker)).map((on) => ({ path: current.path, lines: undefined, on }))
      : []
  }
}

/** Of the lines that are there. What was removed has the number of the line behind it. */
function numbersOf({ lines }: LineLog<Maker>): ReadonlyMap<object, number> {
  const numbers = new Map<object, number>()
  let number = 1
  for (const line of lines) {
    numbers.set(line, number)
    if (line.removed === undefined) number += 1
  }
  return numbers
}

function rangeOf({ made, removed }: Hunk<Maker>, numbers: ReadonlyMap<object, number>) {
  const known = [...made.filter((line) => line.removed === undefined), ...removed].flatMap(
    (line) => numbers.get(line) ?? []
  )
  return known.length === 0 ? undefined : { start: Math.min(...known), end: Math.max(...known) }
}
