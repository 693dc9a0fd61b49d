// The page's memory: what the server said last, and the timeline. Bounded, and drawn once a frame at most.
import { call, get, ServerError } from './server.ts'
import { follow, type Connection } from './stream.ts'
import {
  applyLeases,
  fromHistory,
  sameChange,
  toHappening,
  type Activity,
  type Happening,
  type HistoryVersion,
  type LockList,
  type TreeEvent
} from './model.ts'

/** Lines of the timeline that are kept; the oldest half of what is beyond goes at once. */
const maxLines = 4000
/** After what happened the state is asked for again, yet no more often than this. */
const restMs = 700
/** Time left and agents that only read change without an event. */
const idleMs = 5000
/** A large state takes the server and the browser longer: both then rest for this many times as long. */
const restFactor = 10
/** In a list of more files than this the events of leases are put in at once, so often at most. */
const longList = 1000
const applyMs = 300
const firstPages = 3

export interface State {
  readonly connection: Connection
  readonly connectionMessage: string
  readonly isLoaded: boolean
  readonly locks: LockList | undefined
  readonly activity: Activity | undefined
  readonly roots: readonly string[]
  readonly version: string
  /** Oldest first. Always the same list; `revision` says that it has grown. */
  readonly timeline: readonly Happening[]
  readonly revision: number
  /** Events that were missed, since the page was away for too long. */
  readonly missed: boolean
  readonly events: number
}

type Listener = () => void

export type Store = ReturnType<typeof createStore>

export function createStore() {
  const listeners = new Set<Listener>()
  let timeline: Happening[] = []
  let state: State = {
    connection: 'connecting',
    connectionMessage: '',
    isLoaded: false,
    locks: undefined,
    activity: undefined,
    roots: [],
    version: '',
    timeline,
    revision: 0,
    missed: false,
    events: 0
  }
  let isDrawing = false
  let refreshTimer: ReturnType<typeof setTimeout> | undefined
  let refreshAt = Infinity
  let restUntil = 0
  let isRefreshing = false
  let endStream = () => {}
  let unapplied: TreeEvent[] = []
  let applyTimer: ReturnType<typeof setTimeout> | undefined

  function set(part: Partial<State>): void {
    state = { ...state, ...part }
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(() => {
      isDrawing = false
      for (const listener of listeners) listener()
    })
  }

  function take(events: readonly TreeEvent[]): void {
    const before = timeline.length
    let missed = state.missed
    for (const event of events) {
      if (event.type === 'gap') {
        missed = true
        void loadHistory()
      }
      const line = toHappening(event)
      if (line !== undefined) timeline.push(line)
    }
    if (timeline.length > maxLines) timeline = timeline.slice(-maxLines / 2)
    const hasGrown = timeline.length !== before
    set({
      events: state.events + events.length,
      missed,
      timeline,
      ...(hasGrown && { revision: state.revision + 1 })
    })
    refreshIn(restMs / 4)
    if ((state.locks?.files.length ?? 0) > longList) applySoon(events)
  }

  function applySoon(events: readonly TreeEvent[]): void {
    unapplied.push(...events)
    applyTimer ??= setTimeout(() => {
      applyTimer = undefined
      const { locks } = state
      if (locks !== undefined) set({ locks: { ...locks, files: [...applyLeases(locks.files, unapplied)] } })
      unapplied = []
    }, applyMs)
  }

  /** What happened before the page was opened, or while it was away. */
  async function loadHistory(): Promise<void> {
    const absolute = (path: string) =>
      path.startsWith('/') || state.roots.length === 0 ? path : `${state.roots[0]}/${path}`
    const known = new Set(timeline.map(sameChange))
    const found: Happening[] = []
    let cursor: string | undefined
    for (let page = 0; page < firstPages; page += 1) {
      const input = { limit: 100, ...(cursor !== undefined && { cursor }) }
      const answer = await call<{ versions: HistoryVersion[]; next_cursor?: string }>('async_history', input)
      for (const version of answer.versions) {
        const line = fromHistory(version, absolute)
        if (line !== undefined && !known.has(sameChange(line))) found.push(line)
      }
      cursor = answer.next_cursor
      if (cursor === undefined) break
    }
    timeline = [...found, ...timeline].sort((a, b) => a.at - b.at)
    set({ timeline, revision: state.revision + 1, missed: false })
  }

  function refreshIn(ms: number): void {
    const at = Math.max(performance.now() + ms, restUntil)
    if (at >= refreshAt || document.hidden) return
    clearTimeout(refreshTimer)
    refreshAt = at
    refreshTimer = setTimeout(() => void refresh(), at - performance.now())
  }

  async function refresh(): Promise<void> {
    refreshAt = Infinity
    if (isRefreshing || state.connection === 'refused') return
    isRefreshing = true
    const start = performance.now()
    try {
      const locks = await get<LockList>('/locks')
      // A frame between what takes long: to read the lists, and to draw them.
      const activity = await get<Activity>('/activity')
      unapplied = []
      set({ locks, activity, isLoaded: true })
    } catch (error) {
      if (error instanceof ServerError && error.status === 401)
        set({ connection: 'refused', connectionMessage: error.message })
    } finally {
      isRefreshing = false
      restUntil = performance.now() + Math.max(restMs, restFactor * (performance.now() - start))
      refreshIn(idleMs)
    }
  }

  async function open(): Promise<void> {
    const { base_directories = [], server } = await call<{ base_directories?: string[]; server?: { version: string } }>(
      'async_status',
      {}
    )
    set({ roots: base_directories, version: server?.version ?? '' })
    await Promise.all([loadHistory(), refresh()])
  }

  function connect(): void {
    endStream()
    endStream = follow({
      onEvents: take,
      onConnection(connection, connectionMessage = '') {
        const isBack = connection === 'live' && state.connection !== 'live'
        set({ connection, connectionMessage })
        if (!isBack) return
        open().catch(() => refreshIn(restMs))
      }
    })
  }

  document.addEventListener('visibilitychange', () => refreshIn(0))

  return {
    get: () => state,
    subscribe(listener: Listener): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    connect,
    /** After an act of this page: what it did is to be seen. */
    refreshSoon: () => refreshIn(0)
  }
}
