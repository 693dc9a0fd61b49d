// What the page knows of the tree: types of the contract, and what is made of them. Pure: it runs in Node, too.
import type { Activity, AgentFacts } from '../schemas/activity.ts'
import type { Event, Gap, Ready } from '../schemas/events.ts'
import type { Health } from '../schemas/health.ts'
import type { HistoryVersion } from '../schemas/history.ts'
import type { LockList } from '../schemas/lock-list.ts'

export type { Activity, AgentFacts, HistoryVersion, LockList }
export type TreeEvent = Event | Gap | Ready
export type Degraded = Health['degraded'][number]
export type LockedFile = LockList['files'][number]
export type Holder = LockedFile['holders'][number]
export type Waiter = LockedFile['pending_requests'][number]

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
  /** The lines of the files, if it is a change of several. */
  readonly files?: readonly Happening[]
  /** True for a change that came too late for the one above it. */
  readonly isUnder?: true
}

/** Undefined for what is no line of the timeline. */
export function toHappening(event: TreeEvent): Happening | undefined {
  if (event.type === 'ready' || event.type === 'queue_position' || event.type === 'lock_released') return undefined
  const { id: key } = event
  const at = Date.parse(event.at)
  if (event.type === 'gap') return undefined
  const agent = event.agent_id ?? 'without a name'
  switch (event.type) {
    case 'file_changed': {
      if ('bulk' in event) return { key, at, agent, kind: 'changed', path: '', what: `${event.count} files at once` }
      return { key: keyOf(event), at, agent, path: event.path, ...changeFacts(event) }
    }
    case 'contention': {
      const { path, merged, expected_hash: expectedHash, current_hash: hash } = event
      // A merge is a change, and has its line by that: `markMerged`.
      if (merged) return undefined
      return { key, at, agent, path, hash, expectedHash, kind: 'contention', what: 'too late: nothing was written' }
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
  const by = operation === 'external' ? 'outside the server' : operation.replace(/^async_/, '')
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

/** The line of the change that was merged, told of as that: it comes before the event that says so. */
export function markMerged(timeline: Happening[], event: TreeEvent): boolean {
  if (event.type !== 'contention' || !event.merged) return false
  const { path, agent_id, expected_hash: expectedHash, current_hash } = event
  const at = timeline.findLastIndex(
    (line) => line.path === path && line.agent === agent_id && line.previousHash === current_hash
  )
  const line = timeline[at]
  if (line === undefined) return false
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
      const what = `${line.operation?.replace(/^async_/, '')}: ${files.length} files`
      // Named after its first file: later ones may still come.
      const { hash: _hash, previousHash: _previous, ...shared } = line
      folded[folded.length - 1] = { ...shared, key: `all ${line.key}`, path: '', files, what }
    }
  }
  return folded
}

/** Puts each change that came too late under the one that it came too late for. @param lines the latest first */
export function putUnder(lines: readonly Happening[]): Happening[] {
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

/** What events say of leases, put into the last list: a long list is asked for rarely. The next list corrects it. */
export function applyLeases(files: readonly LockedFile[], events: readonly TreeEvent[]): readonly LockedFile[] {
  const told = events.filter((event) => event.type === 'lease_granted' || event.type === 'lock_released')
  if (told.length === 0) return files
  const byPath = new Map(files.map((file) => [file.path, file]))
  for (const event of told) {
    if (event.type === 'lock_released' && event.held_as !== 'lease') continue
    const { path, agent_id, mode, at } = event
    const { holders, pending_requests } = byPath.get(path) ?? { holders: [], pending_requests: [] }
    const others = holders.filter((holder) => holder.type !== 'lease' || holder.agent_id !== agent_id)
    if (event.type === 'lease_granted') {
      const { note, expires_at } = event
      const lease = { type: 'lease', mode, agent_id, acquired_at: at, expires_at, ...(note !== undefined && { note }) }
      const waiting = pending_requests.filter((waiter) => waiter.agent_id !== agent_id)
      byPath.set(path, { path, holders: [...others, lease], pending_requests: waiting })
    } else if (others.length + pending_requests.length > 0)
      byPath.set(path, { path, holders: others, pending_requests })
    else byPath.delete(path)
  }
  return [...byPath.values()]
}

/** Puts all files that are waited for into the last list: for the others none waits any more. */
export function applyWaits(files: readonly LockedFile[], waitedFor: readonly LockedFile[]): LockedFile[] {
  const found = new Map(waitedFor.map((file) => [file.path, file]))
  const others = files
    .filter(({ path }) => !found.has(path))
    .map((file) => (file.pending_requests.length === 0 ? file : { ...file, pending_requests: [] }))
    .filter(({ holders }) => holders.length > 0)
  return [...others, ...waitedFor]
}

/** Files with waiters first, otherwise in the order given. */
export function waitedForFirst(files: readonly LockedFile[]): LockedFile[] {
  const isWaitedFor = ({ pending_requests }: LockedFile) => pending_requests.length > 0
  return [...files.filter(isWaitedFor), ...files.filter((file) => !isWaitedFor(file))]
}

/** Relative to the roots, with the root's own name before it if there are several. */
export function shorten(path: string, roots: readonly string[]): string {
  const root = roots.find((each) => path.startsWith(`${each}/`))
  if (root === undefined) return path
  const relative = path.slice(root.length + 1)
  return roots.length === 1 ? relative : `${root.slice(root.lastIndexOf('/') + 1)}/${relative}`
}

export const shortenerOf =
  (roots: readonly string[]) =>
  (path: string): string =>
    shorten(path, roots)

/** How far back and up: `a/b/*.ts`, `**` over folders, a plain word anywhere in the path. */
export function matcherOf(pattern: string): (path: string) => boolean {
  const text = pattern.trim()
  if (text === '') return () => true
  if (!/[*?]/.test(text)) return (path) => path.toLowerCase().includes(text.toLowerCase())
  const source = text
    .replace(/\*{3,}/g, '**')
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((part) => globParts[part] ?? part.replace(/[\\^$.|+()[\]{}]/g, '\\$&'))
    .join('')
  const expression = new RegExp(`^${text.includes('/') ? '' : '(?:.*/)?'}${source}$`, 'i')
  return (path) => expression.test(path)
}

const globParts: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }
