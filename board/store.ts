// The page's memory: what the server said last, and the timeline. Bounded, and drawn a few times a second at most.
import { call, get, ServerError } from './server.ts'
import { follow, type Connection } from './stream.ts'
import type { Happening } from './happenings.ts'
import { createFilesInUse } from './files-in-use.ts'
import type { Activity, Degraded, LockedFile, LockList, TreeEvent } from './model.ts'
import { createTimeline } from './timeline.ts'

/** After what happened the state is asked for again, yet no more often than this. */
const restMs = 700
/** Time left and agents that only read change without an event. */
const idleMs = 5000
/** What happens after a rest is drawn with the next frame; what follows, so often at most. */
const drawRestMs = 200
/** Of files in use. A longer list comes in parts, none of which holds up a frame here or a call there, and so many times more rarely. Meanwhile the events of leases are put in, and the files that are waited for. */
const partSize = 1000
const maxFiles = 20_000

export interface State {
  readonly connection: Connection
  readonly connectionMessage: string
  readonly isLoaded: boolean
  readonly locks: LockList | undefined
  readonly activity: Activity | undefined
  /** Parts of the server that do not work as they should. */
  readonly degraded: readonly Degraded[]
  readonly roots: readonly string[]
  readonly version: string
  /** Oldest first. Mostly the same list; `revision` says that it has grown. */
  readonly timeline: readonly Happening[]
  readonly revision: number
  /** The history may have older changes. */
  readonly hasOlder: boolean
  /** Events that were missed, since the page was away for too long. */
  readonly missed: boolean
  readonly events: number
}

type Listener = () => void

export type Store = ReturnType<typeof createStore>

export function createStore() {
  const listeners = new Set<Listener>()
  let state: State = {
    connection: 'connecting',
    connectionMessage: '',
    isLoaded: false,
    locks: undefined,
    activity: undefined,
    degraded: [],
    roots: [],
    version: '',
    timeline: [],
    revision: 0,
    hasOlder: false,
    missed: false,
    events: 0
  }
  let isDrawing = false
  let refreshTimer: ReturnType<typeof setTimeout> | undefined
  let refreshAt = Infinity
  let restUntil = 0
  let isRefreshing = false
  let readAgainAt = -Infinity
  let healthAt = -Infinity
  let endStream = () => {}
  let drawnAt = -Infinity
  const filesInUse = createFilesInUse(partSize)
  /** Events have changed them since they were drawn. */
  let isListOld = false
  /** Elsewhere the waits are enough, if the list is long. */
  let isListShown = true

  function set(part: Partial<State>): void {
    state = { ...state, ...part }
    if (isDrawing) return
    isDrawing = true
    const restMs = drawnAt + drawRestMs - performance.now()
    if (restMs <= 0) requestAnimationFrame(draw)
    else setTimeout(() => requestAnimationFrame(draw), restMs)
  }

  function draw(): void {
    isDrawing = false
    drawnAt = performance.now()
    if (isListOld && isListShown && state.locks !== undefined) state = { ...state, locks: listed(state.locks) }
    if (isListShown) isListOld = false
    for (const listener of listeners) listener()
  }

  const timeline = createTimeline((path) =>
    path.startsWith('/') || state.roots.length === 0 ? path : `${state.roots[0]}/${path}`
  )
  const grown = () => ({ timeline: timeline.lines, hasOlder: timeline.hasOlder, revision: state.revision + 1 })

  function take(events: readonly TreeEvent[]): void {
    const hasGap = events.some(({ type }) => type === 'gap')
    if (hasGap) void loadHistory()
    const hasGrown = events.filter(timeline.take).length > 0
    set({ events: state.events + events.length, missed: state.missed || hasGap, ...(hasGrown && grown()) })
    refreshIn(restMs / 4)
    // A hidden page reads the state anew when it is shown again.
    if (document.hidden) return
    if (filesInUse.take(events)) isListOld = true
  }

  const listed = (locks: LockList): LockList => ({ ...locks, files: filesInUse.list() })

  async function loadHistory(): Promise<void> {
    await timeline.load()
    set({ ...grown(), missed: false })
  }

  async function loadOlder(): Promise<void> {
    await timeline.loadOlder()
    set(grown())
  }

  function refreshIn(ms: number): void {
    if (document.hidden) return
    const now = performance.now()
    refreshAt = Math.min(refreshAt, now + ms)
    clearTimeout(refreshTimer)
    // Meanwhile it is not known until when to rest.
    if (!isRefreshing) refreshTimer = setTimeout(() => void refresh(), Math.max(refreshAt, restUntil) - now)
  }

  async function refresh(): Promise<void> {
    if (isRefreshing) return refreshIn(0)
    refreshAt = Infinity
    if (state.connection === 'refused') return
    isRefreshing = true
    const start = performance.now()
    try {
      if (start >= readAgainAt && (isListShown || !filesInUse.isLong())) {
        readAgainAt = Infinity
        const locks = await readList('')
        filesInUse.setAll(locks.files)
        set({ locks: listed(locks) })
      } else if (filesInUse.isLong()) await readWaits()
      set({ activity: await get<Activity>('/activity'), isLoaded: true })
      await readHealth()
    } catch (error) {
      readAgainAt = -Infinity
      if (error instanceof ServerError && error.status === 401)
        set({ connection: 'refused', connectionMessage: error.message })
    } finally {
      isRefreshing = false
      const now = performance.now()
      const rest = Math.max(restMs, now - start)
      restUntil = now + rest
      const parts = filesInUse.isLong() ? Math.ceil(filesInUse.size() / partSize) : 0
      // Unless something has asked for it meanwhile.
      if (readAgainAt === Infinity) readAgainAt = now + rest * parts
      refreshIn(idleMs)
    }
  }

  /** No event tells of it. */
  async function readHealth(): Promise<void> {
    if (performance.now() < healthAt) return
    healthAt = performance.now() + idleMs
    const { degraded } = await get<{ degraded: readonly Degraded[] }>('/health')
    set({ degraded })
  }

  /** Only waiters that have joined a queue are told by events, not those that have left it. */
  async function readWaits(): Promise<void> {
    const { files, counts, timestamp } = await readList('&only=waited_for')
    filesInUse.setWaitedFor(files)
    if (state.locks !== undefined) set({ locks: listed({ ...state.locks, counts, timestamp }) })
  }

  async function readList(filter: string): Promise<LockList> {
    filesInUse.beginReading()
    const files: LockedFile[] = []
    for (let after = ''; ; after = `&after=${encodeURIComponent(files.at(-1)?.path ?? '')}`) {
      const part = await get<LockList>(`/locks?limit=${partSize}${after}${filter}`)
      files.push(...part.files)
      if (!part.truncated || files.length >= maxFiles) return { ...part, files }
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

  /** Sooner than the next reading of a long list. */
  function refreshSoon(): void {
    readAgainAt = -Infinity
    refreshIn(0)
  }

  /** The view with the files in use has come, or gone. */
  function showList(isShown: boolean): void {
    if (isShown && !isListShown) refreshSoon()
    isListShown = isShown
    set({})
  }

  // An act of this page, and a look at it after a while, are to show what is.
  document.addEventListener('visibilitychange', refreshSoon)

  return {
    get: () => state,
    subscribe(listener: Listener): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    connect,
    loadOlder,
    refreshSoon,
    showList
  }
}
