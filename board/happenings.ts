// The lines of the timeline: what events, the history and the changes that came too late say, one line for one change. Pure.
import type { HistoryVersion, LateChange, TreeEvent } from './model.ts'
import { actOf, counted } from './words.ts'

export const kinds = ['created', 'changed', 'renamed', 'deleted', 'contention', 'merged', 'lease', 'circle'] as const
export type Kind = (typeof kinds)[number]

/** One line of the timeline. */
export interface Happening {
  /** Unique; of a change the same tomorrow, and on every page. */
  readonly key: string
  readonly kind: Kind
  /** Absolute; empty if it is about many files. */
  readonly path: string
  readonly agent: string
  readonly at: number
  /** In words, beside the kind. */
  readonly what: string
  readonly hash?: string | null
  readonly previousHash?: string | null
  /** The task or the transaction to which a change belongs. */
  readonly changeSet?: string
  readonly operation?: string
  /** The shell command that made it. */
  readonly command?: string
  /** Of a change that came too late: the version that it was made for. */
  readonly expectedHash?: string
  /** What it would have made of that, as long as it is kept. */
  readonly triedHash?: string
  /** The lines of the files, if it is a change of several. */
  readonly files?: readonly Happening[]
  /** True for a change that came too late for the one above it. */
  readonly isUnder?: true
}

/** Undefined for what is no line of the timeline. */
export function toHappening(event: Exclude<TreeEvent, LateChange>): Happening | undefined {
  if (event.type === 'ready' || event.type === 'queue_position' || event.type === 'lock_released') return undefined
  const { id: key } = event
  const at = Date.parse(event.at)
  if (event.type === 'gap') return undefined
  const agent = event.agent_id ?? nameless
  switch (event.type) {
    case 'file_changed': {
      if ('bulk' in event) return { key, at, agent, kind: 'changed', path: '', what: `${event.count} files at once` }
      return { key: keyOf(event), at, agent, path: event.path, ...changeFacts(event) }
    }
    case 'lease_granted': {
      const note = event.note === undefined ? '' : `: ${event.note}`
      return { key, at, agent, path: event.path, kind: 'lease', what: `leased (${event.mode})${note}` }
    }
    case 'lease_expired':
      return { key, at, agent, path: event.path, kind: 'lease', what: `lease ${endings[event.cause] ?? event.cause}` }
    case 'deadlock': {
      const circle = event.waits.map(({ agent_id }) => agent_id)
      return {
        key,
        at,
        agent,
        path: event.path,
        kind: 'circle',
        what: `refused: ${[...circle, circle[0]].join(' → ')}`
      }
    }
    default:
      return event satisfies never
  }
}

/** A late change that was refused. One that was merged has the line of its change: `markMerged`. */
export function fromLate(late: LateChange): Happening {
  const { at, path, operation = '', expected_hash: expectedHash, current_hash: hash, tried_hash: triedHash } = late
  const agent = late.agent_id ?? nameless
  return {
    key: `late ${at} ${path} ${agent}`,
    kind: 'contention',
    path,
    agent,
    at: Date.parse(at),
    what: `${actOf(operation)}, too late: nothing was written`,
    operation,
    hash,
    expectedHash,
    ...(triedHash !== undefined && { triedHash })
  }
}

const nameless = 'without a name'

/** What an event and the history say of a change alike. */
function changeFacts(change: Changed) {
  const { hash, previous_hash: previousHash, change_set: changeSet, operation, command, renamed_from: from } = change
  return {
    hash,
    operation,
    ...(previousHash !== undefined && { previousHash }),
    ...(changeSet !== undefined && { changeSet }),
    ...(command !== undefined && { command }),
    ...describeChange({ hash, previousHash, from, operation })
  }
}

interface Changed {
  readonly hash: string | null
  readonly previous_hash?: string | null
  readonly change_set?: string
  readonly operation: string
  readonly command?: string
  readonly renamed_from?: string
}

const endings: Readonly<Record<string, string>> = {
  expired: 'expired',
  broken: 'broken by an operator',
  disconnected: 'ended with its connection'
}

interface ChangeFacts {
  readonly hash: string | null
  readonly previousHash: string | null | undefined
  readonly from: string | undefined
  readonly operation: string
}

function describeChange({ hash, previousHash, from, operation }: ChangeFacts): { kind: Kind; what: string } {
  const by = operation === 'external' ? 'outside the server' : actOf(operation)
  if (from !== undefined) return { kind: 'renamed', what: `from ${from}` }
  if (hash === null)
    return by === 'rename' ? { kind: 'renamed', what: 'to another path' } : { kind: 'deleted', what: by }
  // Only async_write makes a file that was not there; the event of it names no version before.
  const isNew = previousHash === null || (previousHash === undefined && operation === 'async_write')
  return { kind: isNew ? 'created' : 'changed', what: by }
}

const keyOf = ({ at, path, hash }: { at: string; path: string; hash: string | null }): string =>
  `${at} ${path} ${hash?.slice(7, 15) ?? 'none'}`

/** Of the change that a key names: its path and its time. */
export function partsOf(key: string): { at: string; path: string } | undefined {
  const [, at, path] = /^(\S+Z) (.+) (?:\w{8}|none)$/s.exec(key) ?? []
  return at === undefined || path === undefined ? undefined : { at, path }
}

/** Says of the line of a change that it was merged. @returns false if there is none */
export function markMerged(timeline: Happening[], merged: LateChange): boolean {
  const { path, agent_id, expected_hash: expectedHash, current_hash } = merged
  const at = timeline.findLastIndex(
    (line) => line.path === path && line.agent === agent_id && line.previousHash === current_hash
  )
  const line = timeline[at]
  if (line === undefined || line.kind === 'merged') return false
  timeline[at] = { ...line, kind: 'merged', expectedHash, what: `${line.what}, late, and merged` }
  return true
}

/** Changes of several files, and what one undo or one command has made, as one line each. @param lines the latest first */
export function foldLines(lines: readonly Happening[]): Happening[] {
  const folded: Happening[] = []
  for (const line of lines) {
    const last = folded.at(-1)
    if (last === undefined || !isOneChange(last, line)) folded.push(line)
    else {
      const files = [...(last.files ?? [last]), line]
      const what = `${actOf(line.operation ?? '')}: ${files.length} files`
      // Named after its first file: later ones may still come.
      const { hash: _hash, previousHash: _previous, ...shared } = line
      folded[folded.length - 1] = { ...shared, key: `all ${line.key}`, path: '', files, what }
    }
  }
  return folded
}

/** Puts each change that came too late under the one that it came too late for. @param lines the latest first */
export function putUnder(lines: readonly Happening[]): readonly Happening[] {
  // Most timelines have none, and this is drawn several times a second.
  if (!lines.some(({ kind }) => kind === 'contention')) return lines
  const versionOf = ({ path, hash }: Happening) => `${path}\0${hash}`
  const made = new Map<string, Happening>()
  /** By the change that they came too late for. */
  const late = new Map<Happening, Happening[]>()
  const moved = new Set<Happening>()
  for (const line of lines.toReversed()) {
    const change = made.get(versionOf(line))
    if (line.kind !== 'contention') made.set(versionOf(line), line)
    else if (change !== undefined) {
      late.set(change, [{ ...line, isUnder: true }, ...(late.get(change) ?? [])])
      moved.add(line)
    }
  }
  return lines.flatMap((line) => (moved.has(line) ? [] : [line, ...(late.get(line) ?? [])]))
}

/** Such as `12 changes in 5 files, 1 merged, 2 too late`. */
export function summaryOf(lines: readonly Happening[]): string {
  const files = new Set<string>()
  let [changes, merged, late] = [0, 0, 0]
  for (const line of lines)
    for (const { kind, path } of line.files ?? [line]) {
      if (kind === 'contention') late += 1
      if (kind === 'merged') merged += 1
      if (!isChange(kind)) continue
      changes += 1
      files.add(path)
    }
  return [
    `${counted(changes, 'change')} in ${counted(files.size, 'file')}`,
    ...(merged > 0 ? [`${merged} merged`] : []),
    ...(late > 0 ? [`${late} too late`] : [])
  ].join(', ')
}

const isChange = (kind: Kind): boolean => kind !== 'contention' && kind !== 'lease' && kind !== 'circle'

const ofSeveral: readonly string[] = ['async_transaction', 'async_undo', 'command']
const togetherMs = 2000

function isOneChange(one: Happening, other: Happening): boolean {
  const { operation = '', changeSet, agent, at } = one
  return (
    ofSeveral.includes(operation) &&
    changeSet !== undefined &&
    changeSet === other.changeSet &&
    operation === other.operation &&
    agent === other.agent &&
    Math.abs(at - other.at) < togetherMs
  )
}

/** A version that the server knew before the page was opened. Undefined for one that was there before the server looked. */
export function fromHistory(version: HistoryVersion, absolute: (path: string) => string): Happening | undefined {
  const { path, hash, agent_id: agent, operation, at } = version
  if (agent === null || operation === null) return undefined
  const facts = changeFacts({ ...version, operation })
  const whole = absolute(path)
  return { key: keyOf({ at, path: whole, hash }), path: whole, agent, at: Date.parse(at), ...facts }
}
