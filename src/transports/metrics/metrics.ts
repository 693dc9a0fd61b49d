// What is measured, as families of samples: read at each scrape from numbers that are there anyway.
import type { ByteBudget } from '../../engine/budget/byte-budget.ts'
import type { CallCounts } from '../../engine/call/call-counts.ts'
import type { ServerFacts, TreeFacts } from '../../engine/call/context.ts'
import type { Counts } from '../../engine/activity/counts.ts'
import type { HostFacts } from '../../tree/coordinator/host-facts.ts'
import type { LockManager } from '../../engine/locks/lock-manager.ts'
import { bucketSeconds, type Durations } from '../../support/durations.ts'
import { uptimeSeconds } from '../../support/uptime.ts'

type Labels = Readonly<Record<string, string | number>>

export interface Sample {
  readonly value: number
  readonly labels?: Labels
  /** Of a histogram: the name of the family with what it is. */
  readonly metricName?: string
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Sample[]
}

/** Where the numbers are. */
export interface Sources {
  readonly counts: Counts
  readonly callCounts: CallCounts
  readonly locks: LockManager
  readonly budget: ByteBudget
  readonly tree: TreeFacts
  readonly hosts: () => HostFacts | undefined
  readonly server: ServerFacts
  readonly cacheBytes: () => Readonly<Record<'versions' | 'texts' | 'history' | 'reads', number>>
  readonly watcher: () => { readonly folders: number; readonly isShort: boolean; readonly trackedFiles: number }
  readonly loopDelayMs: (percent: number) => number
  readonly mcpSessions: () => number
  readonly degradedParts: () => number
}

const prefix = 'async_crud_'

export function readFamilies(sources: Sources): Family[] {
  const families = [ofCalls, ofLocks, ofChanges, ofMemory, ofHosts, ofProcess]
  return families.flatMap((read) => read(sources))
}

function ofCalls({ callCounts: { byOperation } }: Sources): Family[] {
  const calls: Sample[] = []
  const durations: Sample[] = []
  for (const [operation, counted] of byOperation) {
    for (const [transport, outcomes] of counted.byTransport)
      for (const [result, value] of outcomes) calls.push({ labels: { operation, transport, result }, value })
    durations.push(...histogramOf('call_duration_seconds', counted.durations, { operation }))
  }
  return [
    counter(
      'calls_total',
      'Calls of operations by clients of this process; result is ok, contention or a code.',
      calls
    ),
    {
      name: `${prefix}call_duration_seconds`,
      help: 'How long calls took, waits included.',
      type: 'histogram',
      values: durations
    }
  ]
}

function ofLocks({ locks, counts }: Sources): Family[] {
  const { paths, shared, exclusive, leases, waiting } = locks.summary()
  const lost = Object.entries(counts.leasesLost).map(([cause, value]) => ({ labels: { cause }, value }))
  return [
    gauge('locks', 'Locks held.', [
      { labels: { mode: 'shared' }, value: shared },
      { labels: { mode: 'exclusive' }, value: exclusive }
    ]),
    gauge('leases', 'Locks that agents hold beyond one call.', leases),
    gauge('locked_files', 'Files that are held or waited for.', paths),
    gauge('queue_depth', 'Requests that wait for a file.', waiting),
    {
      name: `${prefix}lock_wait_seconds`,
      help: 'How long operations waited that did not get their files at once.',
      type: 'histogram',
      values: histogramOf('lock_wait_seconds', counts.lockWaits)
    },
    counter('leases_lost_total', 'Leases that ended without being released.', lost)
  ]
}

function ofChanges({ counts }: Sources): Family[] {
  const { contentions, mergesMade, mergesRefused, notices } = counts
  return [
    counter('contentions_total', 'Changes that were refused, since the file was another version.', contentions),
    counter('merges_total', 'Late changes for which a merge was asked for.', [
      { labels: { result: 'clean' }, value: mergesMade },
      { labels: { result: 'refused' }, value: mergesRefused }
    ]),
    counter('notices_total', 'Notices of changes and lost leases that agents were given.', notices)
  ]
}

function ofMemory({ budget, cacheBytes }: Sources): Family[] {
  const { limit, held, work, unsent, waiting } = budget.use
  return [
    gauge(
      'cache_bytes',
      'Memory of versions, of texts made of them, of histories, and of what agents have read.',
      Object.entries(cacheBytes()).map(([cache, value]) => ({ labels: { cache }, value }))
    ),
    gauge('in_flight_bytes', 'Bytes held for clients: in all, by work on files, by answers that were not taken yet.', [
      { labels: { kind: 'held' }, value: held },
      { labels: { kind: 'work' }, value: work },
      { labels: { kind: 'unsent' }, value: unsent }
    ]),
    gauge('in_flight_limit_bytes', 'daemon.max_pending_request_bytes.', limit),
    gauge('calls_waiting_for_room', 'Calls that wait for room to work in.', waiting)
  ]
}

/** None if one host serves the tree. */
function ofHosts({ hosts }: Sources): Family[] {
  const facts = hosts()
  if (facts === undefined) return []
  const { epoch, leaseMs, endpoints } = facts
  const failing = endpoints.map(({ endpoint, state }) => ({ labels: { endpoint }, value: state === 'fails' ? 1 : 0 }))
  return [
    gauge('epoch', 'Of the election that made this process the authority; 0 if it is not.', epoch ?? 0),
    gauge('lease_seconds', 'Until this process refuses changes unless etcd renews its lease.', leaseMs / 1000),
    gauge('etcd_endpoint_failing', '1 if the last request to the endpoint of etcd failed.', failing)
  ]
}

function ofProcess(sources: Sources): Family[] {
  const { tree, counts, server, watcher, loopDelayMs, mcpSessions, degradedParts } = sources
  const { folders, isShort, trackedFiles } = watcher()
  const { user, system } = process.cpuUsage()
  const delays = [50, 99, 100].map((percentile) => ({ labels: { percentile }, value: loopDelayMs(percentile) / 1000 }))
  return [
    gauge('build_info', 'Always 1; the version of the server.', [{ labels: { version: server.version }, value: 1 }]),
    gauge('is_authority', '1 if this process runs the engine of its tree, 0 if it relays to another.', [
      { value: tree.role() === 'authority' ? 1 : 0 }
    ]),
    counter(
      'authority_changes_total',
      'Times when this process took over the tree, or found another authority.',
      counts.authorityChanges
    ),
    gauge('watched_folders', 'Folders in which changes by other programs are noticed at once.', folders),
    gauge('watcher_degraded', '1 if not all folders can be watched.', isShort ? 1 : 0),
    gauge('tracked_files', 'Files whose versions are remembered.', trackedFiles),
    gauge('degraded_parts', 'Parts that do not work as they should; GET /health names them.', degradedParts()),
    gauge('mcp_sessions', 'Sessions of 2025-era MCP clients.', mcpSessions()),
    gauge('event_loop_delay_seconds', 'How late the event loop was within the last minute.', delays),
    { ...counter('', 'Processor time.', (user + system) / 1e6), name: 'process_cpu_seconds_total' },
    { ...gauge('', 'Resident memory.', process.memoryUsage.rss()), name: 'process_resident_memory_bytes' },
    { ...gauge('', 'When the process started, in Unix time.', startSeconds()), name: 'process_start_time_seconds' }
  ]
}

function startSeconds(): number {
  return Math.round(Date.now() / 1000 - uptimeSeconds())
}

function counter(name: string, help: string, values: number | readonly Sample[]): Family {
  return {
    name: prefix + name,
    help,
    type: 'counter',
    values: typeof values === 'number' ? [{ value: values }] : values
  }
}

function gauge(name: string, help: string, values: number | readonly Sample[]): Family {
  return { ...counter(name, help, values), type: 'gauge' }
}

/** Each bucket counts all that took no longer. */
function histogramOf(name: string, { counts, sumSeconds }: Durations, labels: Labels = {}): Sample[] {
  let total = 0
  const buckets = [...counts].map((count, at): Sample => {
    total += count
    return {
      metricName: `${prefix}${name}_bucket`,
      labels: { ...labels, le: bucketSeconds[at] ?? '+Inf' },
      value: total
    }
  })
  return [
    ...buckets,
    { metricName: `${prefix}${name}_sum`, labels, value: sumSeconds },
    { metricName: `${prefix}${name}_count`, labels, value: total }
  ]
}
