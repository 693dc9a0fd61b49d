// What needs an operator: derived from what the server has said last, and gone by itself when its cause is. Pure.
import type { Activity, Degraded, Holder, LockedFile, Waiter } from '../model.ts'
import { escapeGlob, type Choice } from '../undo/choice.ts'
import { circleMessage, discardMessage, holderMessage, rivalMessage } from './messages.ts'

/** A sentence, of which names and paths are shown in their own way. */
export type Part = string | { readonly agent: string } | { readonly path: string }

export interface Concern {
  /** The same as long as it is the same trouble. */
  readonly key: string
  /** What kind of trouble, in a word or two. */
  readonly title: string
  readonly words: readonly Part[]
  /** By the server's clock. */
  readonly since: number
  /** What ends it by force: the leases on a file. */
  readonly lease?: { readonly path: string; readonly holders: readonly Holder[] }
  /** To be pasted into the session of the agent. */
  readonly message?: { readonly to: string; readonly text: string }
  /** Changes to be looked at, and taken back. */
  readonly undo?: Choice
  /** The agent whose uncommitted work may be landed. */
  readonly land?: string
}

export interface Known {
  readonly files: readonly LockedFile[]
  /** When that was so, by the server's clock. */
  readonly filesAt: number
  readonly activity: Activity | undefined
  readonly degraded: readonly Degraded[]
  readonly now: number
  readonly short: (path: string) => string
}

/** A holder without a call for so many times as long as a wait may take has gone, or is stuck. */
const silentWaits = 2
/** What is over is shown no longer than that. */
const newsMs = 10 * 60_000
/** Two agents that meet so often meanwhile will meet again. */
const rivalTimes = 3
/** Not an agent: changes by programs beside the server. */
const outside = 'external'

/** The worst first. */
export function findConcerns(known: Known): Concern[] {
  const waitedFor = known.files.filter(({ pending_requests }) => pending_requests.length > 0)
  const waiting = new Set(waitedFor.flatMap(({ pending_requests }) => pending_requests.map(({ agent_id }) => agent_id)))
  const silentMs = silentWaits * longWaitMs(known)
  const seen = new Map(known.activity?.agents.map(({ agent_id, last_seen }) => [agent_id, Date.parse(last_seen)]))
  /** A holder that waits itself is not silent: what it waits for is the trouble. */
  const silentSince = ({ agent_id, acquired_at }: Holder): number | undefined => {
    if (agent_id === null || waiting.has(agent_id)) return undefined
    const lastCall = Math.max(seen.get(agent_id) ?? 0, Date.parse(acquired_at))
    return known.now - lastCall >= silentMs ? lastCall : undefined
  }
  const waits = waitedFor.flatMap((file) => silentHolder(file, silentSince, known) ?? longWait(file, known) ?? [])
  return [
    ...known.degraded.map(degradedPart),
    ...waits.sort((one, other) => one.since - other.since),
    ...refusedCircles(waitedFor, known),
    ...refusedCommands(known),
    ...rivals(known)
  ]
}

function silentHolder(
  file: LockedFile,
  silentSince: (holder: Holder) => number | undefined,
  { now, short }: Known
): Concern | undefined {
  const { path, holders, pending_requests: waiters } = file
  const holder = holders.find((each) => silentSince(each) !== undefined)
  if (holder === undefined || holder.agent_id === null) return undefined
  const since = silentSince(holder) ?? now
  return {
    key: `silent ${path} ${holder.agent_id}`,
    title: 'Silent holder',
    words: [{ agent: holder.agent_id }, ' holds ', { path }, ' and has not called, while ', ...waitersOf(waiters)],
    since,
    ...waysOut(file, holder, short)
  }
}

function longWait(file: LockedFile, known: Known): Concern | undefined {
  const { path, holders, pending_requests: waiters } = file
  const since = Math.min(...waiters.map(({ queued_at }) => Date.parse(queued_at)))
  if (known.now - since < longWaitMs(known)) return undefined
  const holder = holders.find(({ type }) => type === 'lease') ?? holders[0]
  const held: Part[] = holder === undefined ? [', which is on its way to the next'] : [', held by ', named(holder)]
  return {
    key: `wait ${path}`,
    title: 'Long wait',
    words: [...waitersOf(waiters), ' for ', { path }, ...held],
    since,
    ...(holder !== undefined && waysOut(file, holder, known.short))
  }
}

/** Of a wait: the holder is asked, or loses its lease. */
function waysOut(
  { path, holders, pending_requests }: LockedFile,
  holder: Holder,
  short: Known['short']
): Pick<Concern, 'lease' | 'message'> {
  const leases = holders.filter(({ type }) => type === 'lease')
  if (leases.length === 0 || holder.agent_id === null) return {}
  const text = holderMessage(short(path), holder, pending_requests.map(nameOf))
  return { lease: { path, holders: leases }, message: { to: holder.agent_id, text } }
}

function degradedPart({ part, message, since }: Degraded): Concern {
  return { key: `degraded ${part}`, title: 'Degraded', words: [`${part}: ${message}`], since: Date.parse(since) }
}

function refusedCommands({ activity, now }: Known): Concern[] {
  const latest = (activity?.refused_commands ?? []).filter(({ at }) => now - Date.parse(at) <= newsMs)
  return latest.map((refused) => {
    const { at, agent_id: agent, command, files, further_files, others } = refused
    const [other] = others
    const more = files.length - 1 + further_files
    const inFiles = files.length === 0 ? '' : ` in ${files[0]}${more > 0 ? ` and ${more} more` : ''}`
    return {
      key: `command ${at} ${agent}`,
      title: 'Command refused',
      words: [
        { agent },
        ` wanted to run ${command}: it would discard uncommitted lines of `,
        ...(other === undefined ? ['others'] : [{ agent: other }]),
        `${others.length > 1 ? ` and ${others.length - 1} more` : ''}${inFiles}`
      ],
      since: Date.parse(at),
      ...(other !== undefined && { undo: { by_agent: other } }),
      ...(other !== undefined &&
        other !== outside && { land: other, message: { to: other, text: discardMessage(agent, refused) } })
    }
  })
}

function rivals({ activity, now, short }: Known): Concern[] {
  return (activity?.rivals ?? []).flatMap(({ path, late_agent_id: late, agent_id: first, times }) => {
    const recent = times.map((at) => Date.parse(at)).filter((at) => now - at <= newsMs)
    const [since] = recent
    if (since === undefined || recent.length < rivalTimes) return []
    const text = rivalMessage(short(path), late, first, recent.length)
    return {
      key: `rivals ${path} ${[late, first].sort().join(' ')}`,
      title: 'Again and again',
      words: [
        { agent: late },
        ' and ',
        { agent: first },
        ' change ',
        { path },
        ` at the same time: ${recent.length} changes came too late`
      ],
      since,
      message: { to: late, text },
      undo: { paths: [escapeGlob(short(path))], since: new Date(since).toISOString() }
    }
  })
}

/** As long as another waits for what the refused one holds: it has to let go. */
function refusedCircles(waitedFor: readonly LockedFile[], known: Known): Concern[] {
  const { activity, filesAt, now, short } = known
  return (activity?.refused_circles ?? []).flatMap(({ at, waits }) => {
    const since = Date.parse(at)
    const [refused, last] = [waits[0], waits.at(-1)]
    if (refused === undefined || last === undefined || now - since > newsMs) return []
    const file = waitedFor.find(({ path }) => path === last.waits_for)
    const goesOn = file?.pending_requests.some(
      ({ agent_id, queued_at }) => agent_id === last.agent_id && Date.parse(queued_at) <= since
    )
    if (goesOn !== true && filesAt > since && now - since > longWaitMs(known)) return []
    const leases = file?.holders.filter(({ type, agent_id }) => type === 'lease' && agent_id === refused.agent_id) ?? []
    const steps = waits.flatMap(({ agent_id, waits_for }): Part[] => [
      { agent: agent_id },
      ' → ',
      { path: waits_for },
      ' → '
    ])
    return {
      key: `circle ${at} ${refused.agent_id}`,
      title: 'Deadlock broken',
      words: [
        { agent: refused.agent_id },
        ' was refused, since it would have waited for ever: ',
        ...steps,
        { agent: refused.agent_id }
      ],
      since,
      ...(leases.length > 0 && { lease: { path: last.waits_for, holders: leases } }),
      message: { to: refused.agent_id, text: circleMessage(waits, short) }
    }
  })
}

const longWaitMs = ({ activity }: Known): number => 1000 * (activity?.long_wait_seconds ?? Infinity)

function waitersOf(waiters: readonly Waiter[]): Part[] {
  const [first] = waiters
  if (first === undefined) return []
  const others = waiters.length - 1
  if (others === 0) return [named(first), ' waits']
  return [named(first), ` and ${others} ${others === 1 ? 'other' : 'others'} wait`]
}

interface Caller {
  readonly agent_id: string | null
}

const nameless = 'an agent without a name'
const named = ({ agent_id }: Caller): Part => (agent_id === null ? nameless : { agent: agent_id })
const nameOf = ({ agent_id }: Caller): string => agent_id ?? nameless
