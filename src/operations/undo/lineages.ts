// The life of each file over its names: every change that the history knows, in order.
import type { OperationContext } from '../../engine/call/context.ts'
import type { Version } from '../../engine/versions/version.ts'
import { inSlices } from '../../support/slices.ts'

/** What a file was at one time. */
export type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly hash: string; readonly mode?: number | undefined }
  | { readonly kind: 'link'; readonly target: string }
  /** A file whose bytes were not read: it can be moved, and nothing else. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'unknown' }

export interface LineageChange {
  readonly version: Version
  /** Its names before and after. */
  readonly from: string
  readonly path: string
  readonly before: State
  readonly after: State
}

export interface Lineage {
  /** Its name now, or the last one that it had. */
  path: string
  state: State
  /** Oldest first. */
  readonly changes: LineageChange[]
}

interface Event {
  readonly path: string
  readonly version: Version
}

const none: State = { kind: 'none' }
const unknown: State = { kind: 'unknown' }

export async function readLineages({
  history,
  signal
}: Pick<OperationContext, 'history' | 'signal'>): Promise<Lineage[]> {
  const events: Event[] = []
  const collect = (path: string) => {
    for (const version of history.versions(path)) events.push({ path, version })
  }
  await inSlices(history.paths(), collect, signal)
  events.sort((one, other) => one.version.seq - other.version.seq)
  const lives = new Lives()
  for (const together of entriesOf(events)) lives.add(together)
  return lives.all
}

/** What one change has made counts as made at once. */
function* entriesOf(events: readonly Event[]): Generator<readonly Event[]> {
  let together: Event[] = []
  for (const event of events) {
    const { entry } = event.version
    if (together.length > 0 && (entry === undefined || entry !== together[0]!.version.entry)) {
      yield together
      together = []
    }
    together.push(event)
  }
  if (together.length > 0) yield together
}

export interface Left {
  /** The chosen changes that are there to be taken back, oldest first. */
  readonly left: readonly LineageChange[]
  /** Chosen undos together with all that they have taken back: to take both back changes nothing. */
  readonly cancelled: readonly LineageChange[]
}

/** What an undo has taken back is not there to be taken back again, unless that undo is taken back, too. */
export function leftOf(changes: readonly LineageChange[], isChosen: (change: LineageChange) => boolean): Left {
  const first = changes.findIndex(isChosen)
  const since = first === -1 ? [] : changes.slice(first)
  const chosen = since.filter(isChosen)
  // All that has happened since: the file becomes what it was before.
  if (chosen.length === since.length) return { left: chosen, cancelled: [] }
  const chosenNumbers = new Set(chosen.map(({ version }) => version.seq))
  const numbers = new Set(changes.map(({ version }) => version.seq))
  const [taken, cancelled] = [new Set<number>(), new Set<number>()]
  for (const { version } of changes.toReversed()) {
    const { seq } = version
    if (taken.has(seq) || cancelled.has(seq)) continue
    // Of two files that met at one name, the version of the undo names the changes of both.
    const own = (version.takesBack ?? []).filter((one) => numbers.has(one))
    if (!chosenNumbers.has(seq)) for (const one of own) taken.add(one)
    else if (own.length > 0 && own.every((one) => chosenNumbers.has(one)))
      for (const one of [seq, ...own]) cancelled.add(one)
  }
  return {
    left: chosen.filter(({ version: { seq } }) => !taken.has(seq) && !cancelled.has(seq)),
    cancelled: chosen.filter(({ version: { seq } }) => cancelled.has(seq))
  }
}

class Lives {
  readonly all: Lineage[] = []
  /** By the name that it has, or had last. */
  readonly #at = new Map<string, Lineage>()
  /** Files that have left a name by a rename whose other half comes next. */
  readonly #leaving = new Map<string, Lineage>()
  /** By the version with which it ended. */
  readonly #ended = new Map<number, Lineage>()

  add(events: readonly Event[]): void {
    const arrivals = new Map<string, Lineage>()
    for (const { path, version } of events) {
      const lineage = this.#arrivalOf(path, version)
      if (lineage !== undefined) arrivals.set(path, lineage)
    }
    const moving = new Set(arrivals.values())
    const occupants = new Map(events.map(({ path }) => [path, this.#at.get(path)]))
    for (const lineage of moving) if (this.#at.get(lineage.path) === lineage) this.#at.delete(lineage.path)
    for (const { path, version } of events) {
      const arrival = arrivals.get(path)
      const occupant = occupants.get(path)
      const staying = occupant !== undefined && moving.has(occupant) ? 'left' : occupant
      if (arrival !== undefined) this.#arrive(path, version, arrival, staying)
      else if (version.renamedTo !== undefined) this.#leave(path, staying)
      else this.#change(path, version, staying)
    }
  }

  /** The file that comes to a path from another name, or from the dead. */
  #arrivalOf(path: string, version: Version): Lineage | undefined {
    const { renamedFrom: from, restores } = version
    if (restores !== undefined) return this.#ended.get(restores) ?? this.#begin(path, none)
    if (from === undefined) return undefined
    const there = this.#at.get(from)
    if (there !== undefined && !isDead(there)) return there
    const left = this.#leaving.get(from)
    this.#leaving.delete(from)
    // A rename changes no content; an undo may do both at once.
    return left ?? this.#begin(from, version.operation === 'async_undo' ? unknown : stateOf(version))
  }

  #arrive(path: string, version: Version, lineage: Lineage, staying: Lineage | 'left' | undefined): void {
    // What it replaces at a name whose file had ended is something else that the history had not seen come.
    const there = isDead(staying) ? undefined : staying
    const replaced = there ?? (version.isCreated === true ? undefined : this.#begin(path, unknown))
    if (replaced !== undefined && replaced !== 'left') this.#push(replaced, version, path, none)
    this.#at.set(path, lineage)
    this.#push(lineage, version, path, stateOf(version))
  }

  #leave(path: string, staying: Lineage | 'left' | undefined): void {
    // What leaves a name whose file had ended is something else that the history had not seen come.
    if (staying === undefined || staying === 'left' || isDead(staying)) return
    this.#at.delete(path)
    this.#leaving.set(path, staying)
  }

  #change(path: string, version: Version, staying: Lineage | 'left' | undefined): void {
    const lineage = staying === undefined ? this.#begin(path, firstOf(version)) : staying
    const changed = lineage === 'left' ? this.#begin(path, none) : lineage
    if (version.isFirstSight) changed.state = stateOf(version)
    else this.#push(changed, version, path, stateOf(version))
  }

  #begin(path: string, state: State): Lineage {
    const lineage = { path, state, changes: [] }
    this.all.push(lineage)
    this.#at.set(path, lineage)
    return lineage
  }

  #push(lineage: Lineage, version: Version, path: string, after: State): void {
    const { state, path: from } = lineage
    const at = after.kind === 'none' ? from : path
    const before = after.kind === 'none' ? known(state, version) : state
    lineage.changes.push({ version, from, path: at, before, after })
    lineage.state = after
    lineage.path = at
    if (after.kind === 'none') this.#ended.set(version.seq, lineage)
  }
}

function isDead(lineage: Lineage | 'left' | undefined): boolean {
  return lineage !== undefined && lineage !== 'left' && lineage.state.kind === 'none'
}

/** What a version that ends a file tells of it. */
function known(state: State, { was }: Version): State {
  if (was?.link !== undefined) return { kind: 'link', target: was.link }
  return state.kind === 'file' && was?.mode !== undefined ? { ...state, mode: was.mode } : state
}

function firstOf({ isCreated, isFirstSight }: Version): State {
  return isCreated === true || isFirstSight ? none : unknown
}

function stateOf({ hash, link, isUnread }: Version): State {
  if (hash !== null) return { kind: 'file', hash }
  if (link !== undefined) return { kind: 'link', target: link }
  return isUnread === true ? { kind: 'unread' } : none
}
