// The life of each file over its names: every change that the history knows, in order.
import { setImmediate } from 'node:timers/promises'
import type { OperationContext } from '../../engine/context.ts'
import type { Version } from '../../engine/versions/version.ts'

/** What a file was at one time. */
export type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly hash: string; readonly mode?: number | undefined }
  | { readonly kind: 'link'; readonly target: string }
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

const none: State = { kind: 'none' }
/** After this many files other calls get a turn. */
const filesPerTurn = 200

export async function readLineages({
  history,
  signal
}: Pick<OperationContext, 'history' | 'signal'>): Promise<Lineage[]> {
  const events: { path: string; version: Version }[] = []
  let count = 0
  for (const path of history.paths()) {
    for (const version of history.versions(path)) events.push({ path, version })
    count += 1
    if (count % filesPerTurn > 0) continue
    await setImmediate()
    signal.throwIfAborted()
  }
  events.sort((one, other) => one.version.seq - other.version.seq)
  const lives = new Lives()
  for (const { path, version } of events) lives.add(path, version)
  return lives.all
}

class Lives {
  readonly all: Lineage[] = []
  /** By the name that it has. */
  readonly #at = new Map<string, Lineage>()
  /** Files whose names are being taken: by a rename, or within one transaction. */
  readonly #leaving = new Map<string, Lineage>()
  #group: number | undefined

  add(path: string, version: Version): void {
    if (version.group !== this.#group) this.#leaving.clear()
    this.#group = version.group
    if (version.renamedFrom !== undefined) return this.#move(path, version, version.renamedFrom)
    if (version.renamedTo !== undefined) return this.#leave(path)
    const lineage = this.#at.get(path) ?? this.#begin(path, firstOf(version))
    if (version.isFirstSight) return void (lineage.state = stateOf(version))
    push(lineage, version, path, stateOf(version))
  }

  #begin(path: string, state: State): Lineage {
    const lineage = { path, state, changes: [] }
    this.all.push(lineage)
    this.#at.set(path, lineage)
    return lineage
  }

  #leave(path: string): void {
    const lineage = this.#at.get(path)
    if (lineage === undefined) return
    this.#at.delete(path)
    this.#leaving.set(path, lineage)
  }

  #move(path: string, version: Version, from: string): void {
    const lineage = this.#leaving.get(from) ?? this.#at.get(from) ?? this.#begin(from, { kind: 'unknown' })
    this.#leaving.delete(from)
    if (this.#at.get(from) === lineage) this.#at.delete(from)
    comeBack(lineage, version)
    const replaced = this.#at.get(path)
    if (replaced !== undefined && replaced !== lineage) {
      push(replaced, version, path, none)
      // It may move on in the same transaction, which is seen later.
      if (version.group !== undefined) this.#leaving.set(path, replaced)
    }
    this.#at.set(path, lineage)
    push(lineage, version, path, stateOf(version))
  }
}

/** A file whose name another one has taken in this transaction was not replaced: it moves on. */
function comeBack(lineage: Lineage, { group }: Version): void {
  const last = lineage.changes.at(-1)
  const isReplaced = last?.after.kind === 'none' && last.version.renamedFrom !== undefined
  if (last === undefined || group === undefined || last.version.group !== group || !isReplaced) return
  lineage.changes.pop()
  lineage.state = last.before
  lineage.path = last.from
}

function push(lineage: Lineage, version: Version, path: string, after: State): void {
  const { state: before, path: from } = lineage
  const was = version.was?.link
  const known: State = was === undefined ? withMode(before, version) : { kind: 'link', target: was }
  const at = after.kind === 'none' ? from : path
  lineage.changes.push({ version, from, path: at, before: known, after })
  lineage.state = after
  lineage.path = at
}

/** What is known of the mode is kept with the removal. */
function withMode(state: State, { was }: Version): State {
  return state.kind === 'file' && was?.mode !== undefined ? { ...state, mode: was.mode } : state
}

function firstOf({ isCreated, isFirstSight }: Version): State {
  return isCreated === true || isFirstSight ? none : { kind: 'unknown' }
}

function stateOf({ hash }: Version): State {
  return hash === null ? none : { kind: 'file', hash }
}
