// What the tree, the outcome of a change, the authors of lines and an undo must be, as docs/ and the design say; nothing here knows the code.
import { merge, type Text } from './text.ts'

/** Null: there before the server saw the file. */
export type Author = string | null

interface Line {
  readonly text: string
  /** The agents that async_blame may name. Several for a line that an undo has brought back. Undefined: any. */
  readonly by: readonly Author[] | undefined
}
interface File {
  readonly kind: 'file'
  readonly lines: readonly Line[]
}
interface Link {
  readonly kind: 'link'
  readonly target: string
}
/** What is at a path; undefined is nothing. */
export type Entry = File | Link | undefined

/** What a change makes of one path. */
export interface StepMade {
  readonly path: string
  readonly before: Entry
  readonly after: Entry
  /** Of a rename: all names that it involves. What was there has another one now, or what is there had another. */
  readonly moves?: readonly string[] | undefined
  /** Of an undo: the steps of this path that it has taken back, and those of any that it may have. */
  readonly takesBack?: readonly StepMade[] | undefined
  readonly mayTakeBack?: readonly StepMade[] | undefined
}
export interface Change {
  readonly agent: string
  readonly set: string | undefined
  /** Before it began, and after the one before it. */
  readonly at: number
  readonly steps: readonly StepMade[]
}

export type Outcome =
  | { readonly is: 'made'; readonly steps: readonly StepMade[] }
  | { readonly is: 'late' }
  | { readonly is: 'refused'; readonly code: string | undefined }

/** What a call of async_undo selects; several narrow each other. */
export interface Selection {
  readonly agent?: string | undefined
  readonly set?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly paths?: readonly string[] | undefined
  readonly version?: { readonly path: string; readonly text: string } | undefined
}

/** `chosen`: what is selected and not taken back already. */
export type Undone = { readonly chosen: ReadonlySet<StepMade> } &
  /** What each path becomes. With conflicts, that counts for a partial undo only. */
  (
    | { readonly is: 'known'; readonly steps: readonly StepMade[]; readonly conflicts: readonly string[] }
    /** Others have renamed, created or removed what the changes made: a conflict, or an undo that keeps all lines of others. */
    | { readonly is: 'open'; readonly owed: readonly string[] }
  )

export const external = 'external'
const outside: readonly Author[] = [external, null]

const refused = (code?: string): Outcome => ({ is: 'refused', code })
export const contentOf = (entry: Entry) => (entry?.kind === 'file' ? entry.lines.map(({ text }) => text).join('') : '')
export const linesOf = (entry: Entry): Text => (entry?.kind === 'file' ? entry.lines.map(({ text }) => text) : [])
export const isSame = (one: Entry, other: Entry) =>
  one?.kind === other?.kind &&
  (one?.kind === 'link' ? one.target === (other as Link).target : contentOf(one) === contentOf(other))

/** Lines that were there keep their authors. */
function file(text: Text, by: readonly Author[], before: Entry): File {
  const old = new Map(before?.kind === 'file' ? before.lines.map((line) => [line.text, line]) : [])
  return { kind: 'file', lines: text.map((line) => old.get(line) ?? { text: line, by }) }
}

export class Model {
  readonly tree = new Map<string, Entry>()
  readonly log: Change[] = []

  at(path: string): Entry {
    return this.tree.get(path)
  }

  write(agent: string, path: string, text: Text): Outcome {
    if (this.at(path) !== undefined) return refused('FILE_EXISTS')
    return made({ path, before: undefined, after: file(text, [agent], undefined) })
  }

  update(agent: string, path: string, { expected, wanted, isMerge }: Edit): Outcome {
    const before = this.at(path)
    if (before === undefined) return refused('FILE_NOT_FOUND')
    const isLate = contentOf(before) !== expected.join('')
    if (isLate && !isMerge) return { is: 'late' }
    const text = isLate ? merge(expected, linesOf(before), wanted) : wanted
    return text === 'conflict' ? { is: 'late' } : made({ path, before, after: file(text, [agent], before) })
  }

  append(agent: string, path: string, { text, separator, isCreating, expected, isMerge }: Addition): Outcome {
    const before = this.at(path)
    if (before === undefined) return isCreating ? this.write(agent, path, [text]) : refused('FILE_NOT_FOUND')
    const content = contentOf(before)
    const isLate = expected !== undefined && expected.join('') !== content
    const isOpen = content !== '' && !content.endsWith('\n')
    const wasOpen = expected !== undefined && expected.length > 0 && !expected.join('').endsWith('\n')
    if (isLate && (!isMerge || (isOpen && !wasOpen))) return { is: 'late' }
    const whole = content === '' ? text : content + separator + text
    const lines = whole.match(/[^\n]*\n|[^\n]+$/g) ?? []
    return made({ path, before, after: file(lines, [agent], before) })
  }

  remove(path: string, expected?: Text): Outcome {
    const before = this.at(path)
    if (before === undefined) return refused('FILE_NOT_FOUND')
    return isLate(before, expected) ? { is: 'late' } : made({ path, before, after: undefined })
  }

  rename(from: string, to: string, isOverwriting: boolean, expected?: Text, leaving: readonly string[] = []): Outcome {
    const [moved, replaced] = [this.at(from), this.at(to)]
    if (moved === undefined) return refused('FILE_NOT_FOUND')
    if (isLate(moved, expected)) return { is: 'late' }
    if (from === to) return { is: 'made', steps: [] }
    if (this.leadsTo(moved, to)) return refused('INVALID_REQUEST')
    if (replaced !== undefined && !isOverwriting && !leaving.includes(to)) return refused('FILE_EXISTS')
    const moves = [from, to]
    return made(
      { path: from, before: moved, after: undefined, moves },
      { path: to, before: replaced, after: moved, moves }
    )
  }

  /** To that name, or over several links to the file there: a circle of links that led nowhere loses nothing. */
  private leadsTo(entry: Entry, path: string): boolean {
    if (entry?.kind !== 'link') return false
    const target = this.target(entry)
    return entry.target === path || (target === path && this.at(path)?.kind === 'file')
  }

  /** Where a link leads in the end. */
  private target(entry: Entry, most = 8): string | undefined {
    if (entry?.kind !== 'link' || most === 0) return undefined
    const next = this.at(entry.target)
    return next?.kind === 'link' ? this.target(next, most - 1) : entry.target
  }

  restore(agent: string, path: string, text: Text, expected?: Text): Outcome {
    const before = this.at(path)
    if (before !== undefined && isLate(before, expected)) return { is: 'late' }
    return made({ path, before, after: file(text, [agent], before) })
  }

  /** All are for the tree as it is before: what one of them puts at a path outweighs what another takes from it. */
  together(outcomes: readonly Outcome[]): Outcome {
    if (outcomes.some(({ is }) => is === 'refused')) return refused()
    if (outcomes.some(({ is }) => is === 'late')) return { is: 'late' }
    const steps = new Map<string, StepMade>()
    for (const outcome of outcomes)
      for (const step of outcome.is === 'made' ? outcome.steps : []) {
        const other = steps.get(step.path)
        const moves = step.moves && [...step.moves, ...(other?.moves ?? [])]
        steps.set(step.path, { ...step, after: step.after ?? other?.after, moves })
      }
    return made(...steps.values())
  }

  /** A program outside changes the tree: the server cannot tell its lines from those that were there before. */
  outside(path: string, text: Text | undefined): StepMade {
    const before = this.at(path)
    const past = this.log.flatMap(({ steps }) => steps.filter((step) => step.path === path).map(({ before }) => before))
    const after = text && file(text, outside, before ?? file(linesOf(past.at(-1)), outside, undefined))
    return { path, before, after }
  }

  movedOutside(from: string, to: string): StepMade[] {
    const [moved, replaced] = [this.at(from), this.at(to)]
    const after = anyone(moved)
    const moves = [from, to]
    return [
      { path: from, before: moved, after: undefined, moves },
      { path: to, before: replaced, after, moves }
    ]
  }

  apply(change: Change): void {
    const steps = change.steps.filter(isChange)
    if (steps.length > 0) this.log.push({ ...change, steps })
    for (const { path, after } of steps)
      if (after === undefined) this.tree.delete(path)
      else this.tree.set(path, after)
  }

  /**
   * What an undo has taken back is not taken back again (`leftOf`). If only the chosen changes have touched a path since the first of them,
   * it becomes what it was before that. If all that happened to it since are edits, those chosen go by three-way merges, the newest first,
   * and those between which nothing has changed as one; by a partial undo one by one where that is a conflict.
   */
  undo(agent: string, selection: Selection, isPartial: boolean): Undone {
    const selected = new Set(
      this.log.flatMap((change) => change.steps.filter((step) => doesSelect(selection, change, step)))
    )
    const perhapsGone = new Set(this.log.flatMap(({ steps }) => steps.flatMap(({ mayTakeBack = [] }) => mayTakeBack)))
    const isUnclear = (step: StepMade) => perhapsGone.has(step) && (selected.has(step) || step.takesBack !== undefined)
    const paths = [...new Set([...selected].map(({ path }) => path))].map((path) => {
      const life = this.log.flatMap(({ steps }) => steps.filter((step) => step.path === path))
      const own = life.filter((step) => selected.has(step))
      const isWhole = life.indexOf(own[0]!) + own.length === life.length
      const isKnown = isWhole || !life.some(isUnclear)
      const { left, cancelled } = isWhole || !isKnown ? { left: own, cancelled: [] } : leftOf(life, selected)
      return { path, life, isKnown, left, cancelled }
    })
    const chosen = new Set(paths.flatMap(({ left }) => left))
    if (paths.some(({ isKnown }) => !isKnown)) return this.open(chosen)
    if (this.log.some((change) => isCut(selection, change, chosen))) return this.open(chosen)
    const [steps, conflicts]: [StepMade[], string[]] = [[], []]
    for (const { path, life, left, cancelled } of paths) {
      const before = this.at(path)
      if (left.length === 0) continue
      const since = life.slice(life.indexOf(left[0]!))
      if (since.length === left.length) {
        const moves = since.flatMap(({ moves = [] }) => moves)
        const made = { path, before, after: this.brought(since[0]!.before, agent) }
        // Which of the files that were at the path have changed is not known here.
        if (moves.length > 0) steps.push({ ...made, moves, mayTakeBack: left })
        else steps.push({ ...made, takesBack: [...left, ...cancelled] })
      } else if (!since.every(isEdit)) return this.open(chosen)
      else {
        const { text, taken, isWhole } = takeBack(linesOf(before), left, isPartial)
        if (!isWhole) conflicts.push(path)
        steps.push({ path, before, after: this.brought(text, agent), takesBack: [...taken, ...cancelled] })
      }
    }
    return { is: 'known', chosen, steps: steps.filter(isChange), conflicts }
  }

  /** What an undo brings back: a line is by one of those who made it before, or by the agent that undoes. */
  private brought(entry: Entry | Text, agent: string): Entry {
    if (entry === undefined || 'target' in entry) return entry
    const all = [...this.tree.values(), ...this.log.flatMap(({ steps }) => steps.map(({ before }) => before))]
    const known = all.flatMap((entry) => (entry?.kind === 'file' ? entry.lines : []))
    const lines = ('lines' in entry ? linesOf(entry) : entry).map((text) => {
      const by = known.filter((line) => line.text === text).map(({ by }) => by)
      return { text, by: by.some((one) => one === undefined) ? undefined : [agent, ...by.flatMap((one) => one ?? [])] }
    })
    return { kind: 'file', lines }
  }

  /** Lines that are there and that no chosen change has made. */
  private open(chosen: ReadonlySet<StepMade>): Undone {
    const own = new Set([...chosen].flatMap(({ after }) => linesOf(after)))
    const owed = [...this.tree.values()].flatMap((entry) => linesOf(entry)).filter((line) => !own.has(line))
    return { is: 'open', chosen, owed }
  }
}

export interface Edit {
  readonly expected: Text
  readonly wanted: Text
  readonly isMerge: boolean
}

export interface Addition {
  readonly text: string
  readonly separator: string
  readonly isCreating: boolean
  readonly expected: Text | undefined
  readonly isMerge: boolean
}

function made(...steps: readonly StepMade[]): Outcome {
  return { is: 'made', steps }
}

function isLate(entry: Entry, expected: Text | undefined): boolean {
  return expected !== undefined && contentOf(entry) !== expected.join('')
}

/** Lines of which it is not said who made them. */
function anyone(entry: Entry): Entry {
  return entry?.kind === 'file'
    ? { kind: 'file', lines: entry.lines.map((line) => ({ ...line, by: undefined })) }
    : entry
}

/** A file can take the place of another one with the same content. */
function isChange({ before, after, moves }: StepMade): boolean {
  return moves !== undefined || !isSame(before, after)
}

function isEdit({ moves, before, after }: StepMade): boolean {
  return moves === undefined && before?.kind === 'file' && after?.kind === 'file'
}

/** Of several renames that were made together, only some are chosen. */
function isCut({ version }: Selection, { steps }: Change, chosen: ReadonlySet<StepMade>): boolean {
  const moved = steps.filter(({ moves }) => moves !== undefined)
  const few = moved.filter((step) => chosen.has(step)).length
  const isOne = moved.length === 2 && moved.some(({ after }) => after === undefined)
  return few > 0 && (few < moved.length || (version !== undefined && !isOne))
}

/** A rename is one change of two names, but two if outsiders made it; what they have made is chosen by its version only. */
function doesSelect({ agent, set, since, until, paths, version }: Selection, change: Change, step: StepMade): boolean {
  const names = change.agent === external ? [step.path] : (step.moves ?? [step.path])
  const made = change.steps.filter(({ path }) => names.includes(path))
  return (
    (version === undefined
      ? change.agent !== external
      : made.some(
          ({ path, after }) => path === version.path && after?.kind === 'file' && contentOf(after) === version.text
        )) &&
    (agent === undefined || change.agent === agent) &&
    (set === undefined || change.set === set) &&
    (since === undefined || change.at >= since) &&
    (until === undefined || change.at < until) &&
    (paths === undefined || names.some((path) => paths.includes(path)))
  )
}

/**
 * The selected steps of a path without those that an undo has taken back, as long as it stands: an undo that is selected stands no longer.
 * One that is selected with all that it has taken back has come to nothing, and so have they.
 */
function leftOf(life: readonly StepMade[], selected: ReadonlySet<StepMade>) {
  const [gone, cancelled] = [new Set<StepMade>(), new Set<StepMade>()]
  for (const step of life.toReversed()) {
    if (gone.has(step) || cancelled.has(step)) continue
    const { takesBack = [] } = step
    if (!selected.has(step)) for (const each of takesBack) gone.add(each)
    else if (takesBack.length > 0 && takesBack.every((each) => selected.has(each)))
      for (const each of [step, ...takesBack]) cancelled.add(each)
  }
  const left = life.filter((step) => selected.has(step) && !gone.has(step) && !cancelled.has(step))
  return { left, cancelled: [...cancelled] }
}

/** Steps of which each begins with what the one before it has left are taken back as one. */
function takeBack(now: Text, left: readonly StepMade[], isPartial: boolean) {
  let text = now
  let isWhole = true
  const taken: StepMade[] = []
  const take = (run: readonly StepMade[]) => {
    const result = merge(linesOf(run.at(-1)!.after), text, linesOf(run[0]!.before))
    if (result !== 'conflict') {
      // What has no part in the file any more stays as it is.
      if (result.join('') !== text.join('')) taken.push(...run)
      text = result
    } else if (isPartial && run.length > 1) for (const step of run.toReversed()) take([step])
    else isWhole = false
  }
  const runs: StepMade[][] = []
  for (const step of left) {
    const run = runs.at(-1)
    if (run !== undefined && isSame(run.at(-1)!.after, step.before)) run.push(step)
    else runs.push([step])
  }
  for (const run of runs.toReversed()) take(run)
  return { text, taken, isWhole }
}
