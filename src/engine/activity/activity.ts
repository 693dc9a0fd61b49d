// Who called lately, and at which files agents met: bounded, in memory alone, without any content.
import type { TreeActivity } from '../../../schemas/activity.ts'
import { timestamp } from '../../support/timestamp.ts'
import { createStays } from './stays.ts'
import { createSeenAgents } from './seen-agents.ts'
import { createTroubles } from './troubles.ts'

export interface ActivityLimits {
  /** Agents that are remembered; those not seen for longest are forgotten first. */
  readonly maxAgents: number
  /** Files are counted by minute and agent: so many of these counts are kept, the latest. */
  readonly maxCounts: number
}

/** What happened at one file to one agent, in one minute. */
export interface Meeting {
  readonly path: string
  /** Undefined for a caller without a name. */
  readonly agentId: string | undefined
  contentions: number
  merges: number
  waits: number
  waitedMs: number
}

export type ActivityLog = ReturnType<typeof createActivityLog>

export const minuteMs = 60_000
const longestMinutes = 1440
const stripSlices = 60

export function createActivityLog({ maxAgents, maxCounts }: ActivityLimits, now = Date.now) {
  const agents = createSeenAgents(maxAgents, now)
  /** By minute, the oldest first, then by path and agent. */
  const minutes = new Map<number, Map<string, Meeting>>()
  let counts = 0
  /** What happened before is not all counted. */
  let countedSince = now()
  const stays = createStays(now)
  const troubles = createTroubles(now)

  function meetingAt(path: string, agentId: string | undefined): Meeting {
    const minute = Math.floor(now() / minuteMs)
    let meetings = minutes.get(minute)
    if (meetings === undefined) minutes.set(minute, (meetings = new Map()))
    const key = `${path}\0${agentId ?? ''}`
    let meeting = meetings.get(key)
    if (meeting !== undefined) return meeting
    meetings.set(key, (meeting = { path, agentId, contentions: 0, merges: 0, waits: 0, waitedMs: 0 }))
    counts += 1
    forgetMinutes(minute)
    return meeting
  }

  /** The present minute stays, and takes no more counts than the limit. */
  function forgetMinutes(present: number): void {
    for (const [minute, meetings] of minutes) {
      if (counts > maxCounts) countedSince = Math.max(countedSince, (minute + 1) * minuteMs)
      if (minute === present) {
        if (counts <= maxCounts) return
        const [first] = meetings.keys()
        meetings.delete(first as string)
        counts -= 1
      } else if (counts > maxCounts || minute <= present - longestMinutes) {
        minutes.delete(minute)
        counts -= meetings.size
      } else return
    }
  }

  function listFiles(spanMinutes: number, limit: number): Pick<TreeActivity, 'files' | 'strip_seconds'> {
    const strip = stripOf(spanMinutes, now())
    const byPath = new Map<string, Omit<Meeting, 'path' | 'agentId'> & { readonly strip: number[] }>()
    for (const [minute, meetings] of minutes) {
      const slice = strip.sliceOf(minute * minuteMs)
      if (slice === undefined) continue
      for (const { path, ...meeting } of meetings.values()) {
        let sum = byPath.get(path)
        if (sum === undefined)
          byPath.set(path, (sum = { contentions: 0, merges: 0, waits: 0, waitedMs: 0, strip: strip.empty() }))
        sum.contentions += meeting.contentions
        sum.merges += meeting.merges
        sum.waits += meeting.waits
        sum.waitedMs += meeting.waitedMs
        sum.strip[slice] = (sum.strip[slice] ?? 0) + heatOf(meeting)
      }
    }
    const files = [...byPath].sort(([, one], [, other]) => heatOf(other) - heatOf(one)).slice(0, limit)
    return {
      files: files.map(([path, { waitedMs, ...sum }]) => ({
        path,
        ...sum,
        waited_seconds: Math.round(waitedMs) / 1000
      })),
      strip_seconds: strip.seconds
    }
  }

  return {
    /** Leases and waits, from when until when. */
    stays,
    agents,
    troubles,
    contended(path: string, agentId: string | undefined, merged: boolean): void {
      const meeting = meetingAt(path, agentId)
      const what = merged ? 'merges' : 'contentions'
      meeting[what] += 1
      agents.count(agentId, what)
    },
    waited(path: string, agentId: string | undefined, ms: number): void {
      const meeting = meetingAt(path, agentId)
      meeting.waits += 1
      meeting.waitedMs += ms
      stays.add({ path, agentId, mode: undefined, from: now() - ms, to: now() })
    },
    /** Milliseconds since the epoch; of what happened before, not all meetings are counted. */
    get countedSince(): number {
      return countedSince
    },
    /** Each with the time at which its minute begins. */
    *meetings(): Generator<readonly [at: number, meeting: Meeting]> {
      for (const [minute, meetings] of minutes)
        for (const meeting of meetings.values()) yield [minute * minuteMs, meeting]
    },
    list(spanMinutes: number, limit: number): TreeActivity {
      return {
        agents: agents.list(limit),
        ...listFiles(spanMinutes, limit),
        ...troubles.list(),
        timestamp: timestamp(now())
      }
    }
  }
}

/** The last so many minutes in at most sixty slices of whole minutes, the oldest first; the last one ends with the present minute. */
export function stripOf(spanMinutes: number, now: number) {
  const present = Math.floor(now / minuteMs)
  const perSlice = Math.max(1, Math.ceil(spanMinutes / stripSlices))
  const slices = Math.ceil(spanMinutes / perSlice)
  return {
    seconds: perSlice * 60,
    /** Where it begins and ends, in milliseconds since the epoch. */
    from: (present + 1 - slices * perSlice) * minuteMs,
    to: (present + 1) * minuteMs,
    empty: () => Array<number>(slices).fill(0),
    /** Undefined for a time before it, and for one to come: the clock was set back. */
    sliceOf(at: number): number | undefined {
      const slice = slices - 1 - Math.floor((present - Math.floor(at / minuteMs)) / perSlice)
      return slice < 0 || slice >= slices ? undefined : slice
    }
  }
}

function heatOf({ contentions, merges, waits }: Pick<Meeting, 'contentions' | 'merges' | 'waits'>): number {
  return contentions + merges + waits
}
