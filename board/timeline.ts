// The lines of the timeline, each once, whether an event or the history has told of it. Bounded.
import { fromHistory, fromLate, markMerged, toHappening, type Happening } from './happenings.ts'
import type { Activity, HistoryVersion, LateChange, TreeEvent } from './model.ts'
import { call, get } from './server.ts'

/** Lines that are kept; the oldest half of what is beyond goes at once. More, once older ones were asked for. */
const maxLines = 4000
const mostLines = 12_000
/** Parts of the history that are read when the page is opened, and versions in each. */
const firstPages = 3
const pageSize = 100

export type Timeline = ReturnType<typeof createTimeline>

/** @param absolute the whole path of a file */
export function createTimeline(absolute: (path: string) => string) {
  /** Oldest first. */
  let lines: Happening[] = []
  let keys = new Set<string>()
  let limit = maxLines
  /** Where the history goes on; undefined: from its latest version. */
  let cursor: string | undefined
  let hasOlder = false

  const isNew = ({ key }: Happening): boolean => !keys.has(key)

  /** @returns false if it was there */
  function add(line: Happening | undefined): boolean {
    if (line === undefined || !isNew(line)) return false
    keys.add(line.key)
    lines.push(line)
    if (lines.length > limit) forget()
    return true
  }

  const addLate = (late: LateChange): boolean => (late.merged ? markMerged(lines, late) : add(fromLate(late)))

  function forget(): void {
    lines = lines.slice(-maxLines / 2)
    keys = new Set(lines.map(({ key }) => key))
    limit = maxLines
    cursor = undefined
    hasOlder = true
  }

  /** @returns how many lines it has added */
  async function loadPage(): Promise<number> {
    const input = { limit: pageSize, ...(cursor !== undefined && { cursor }) }
    const answer = await call<{ versions: HistoryVersion[]; next_cursor?: string }>('async_history', input)
    const found = answer.versions.flatMap((version) => fromHistory(version, absolute) ?? []).filter(isNew)
    for (const { key } of found) keys.add(key)
    lines.unshift(...found.toReversed())
    cursor = answer.next_cursor
    hasOlder = cursor !== undefined
    return found.length
  }

  const sort = (): unknown => lines.sort((one, other) => one.at - other.at)

  return {
    /** Oldest first. The same list until it is cut. */
    get lines(): readonly Happening[] {
      return lines
    },
    /** True if the history may have changes before the first line. */
    get hasOlder(): boolean {
      return hasOlder
    },
    /** @returns true if a line is new, or another than before */
    take: (event: TreeEvent): boolean => (event.type === 'contention' ? addLate(event) : add(toHappening(event))),
    /** What happened before the page was opened, or while it was away. */
    async load(): Promise<void> {
      cursor = undefined
      for (let page = 0; page < firstPages && (page === 0 || cursor !== undefined); page += 1) await loadPage()
      const { late_changes = [] } = await get<Activity>('/activity?limit=0&with=late_changes')
      late_changes.toReversed().forEach(addLate)
      sort()
    },
    /** The next part of the history of which not all is there. */
    async loadOlder(): Promise<void> {
      let added = 0
      do added = await loadPage()
      while (added === 0 && cursor !== undefined)
      limit = Math.min(mostLines, Math.max(limit, lines.length + maxLines / 2))
      sort()
    }
  }
}
