// app.engine: runs operations on the lock table and the files of this process itself.
import fp from 'fastify-plugin'
import type { Config } from '../src/config/config.ts'
import { createActivityLog } from '../src/engine/activity/activity.ts'
import type { EngineLink, Questions } from '../src/engine/call/engine-link.ts'
import { serverStopping } from '../src/errors.ts'
import type { ServerFacts } from '../src/engine/call/context.ts'
import { createContexts } from '../src/engine/call/call-context.ts'
import { createCallTurns } from '../src/engine/call/call-turns.ts'
import { followHistory, recallChanges } from '../src/engine/events/file-events.ts'
import { listLocks } from '../src/engine/leases/lock-listing.ts'
import { followLocks } from '../src/engine/events/lock-events.ts'
import { offeredTools } from '../src/transports/mcp/offered-tools.ts'
import { createReadTracker, type ReadTracker } from '../src/engine/seen/read-tracker.ts'
import { listTracked } from '../src/engine/versions/tracked-files.ts'
import { createNativeTurns } from '../src/engine/leases/native-turns.ts'
import { paceProgress } from '../src/support/progress.ts'
import { createReceipts, type Receipts } from '../src/engine/receipts/receipts.ts'
import { createRunningCalls } from '../src/engine/call/running-calls.ts'

type Answers = {
  readonly [Name in keyof Questions]: (
    asked: Questions[Name]['asked']
  ) => Questions[Name]['answer'] | Promise<Questions[Name]['answer']>
}

export interface LocalEngine extends EngineLink {
  /** Ends the waits of a connection for leases, and no lease. */
  readonly cancelWaits: (connection: string) => void
  /** The sessions and connections with which leases end. */
  readonly leaseConnections: () => Iterable<string>
  /** The names of the calls whose places are kept until their relays ask again. */
  readonly places: () => readonly string[]
  /** The versions of an earlier authority are being restored: calls that are about more than leases wait until then. */
  awaitVersions(restored: Promise<void>): void
  /** Refuses new calls, answers waiting ones, and lets calls that hold their lock finish within this time. */
  stop(limitMs: number): Promise<void>
  /** Calls begun and ended so far. */
  steps(): number
}

declare module 'fastify' {
  interface FastifyInstance {
    engine: LocalEngine
    reads: ReadTracker
    receipts: Receipts
    serverFacts: ServerFacts
  }
}

export default fp<{ config: Config; version: string }>(
  async (app, { config, version }) => {
    const { locks, lostLeases, tickets, files, commits, differ, bases, history, events } = app
    const reads = createReadTracker(history, {
      maxViews: config.crud.max_remembered_reads,
      maxBytes: config.crud.max_remembered_bytes
    })
    const receipts = createReceipts({
      keepMs: config.crud.receipt_seconds * 1000,
      maxBytesPerAgent: config.crud.max_agent_receipt_bytes,
      maxBytes: config.crud.max_receipt_bytes
    })
    const activity = createActivityLog({ maxAgents: config.crud.max_seen_agents, maxCounts: config.crud.max_hot_files })
    const nativeTurns = createNativeTurns()
    const server: ServerFacts = {
      version,
      port: undefined,
      persistence: 'disabled',
      transport: config.daemon.transport,
      toolCount: offeredTools(config.mcp).length
    }
    const engine = {
      locks,
      lostLeases,
      tickets,
      reads,
      receipts,
      nativeTurns,
      files,
      commits,
      differ,
      bases,
      history,
      events,
      budget: app.requestBudget,
      counts: app.counts,
      activity,
      server,
      log: app.log,
      // A getter, since the tree depends on this engine and is decorated later.
      get tree() {
        return app.tree
      }
    }
    const contextOf = createContexts(engine)
    const turns = createCallTurns()
    app.server.on('connection', () => turns.noteClient())
    const running = createRunningCalls()
    let isStopping = false
    let restoring: Promise<void> | undefined
    events.addSource((publish) => followHistory(history, publish))
    events.addSource((publish) => followLocks(locks, publish))

    app.decorate('serverFacts', server)
    app.decorate('reads', reads)
    const answers: Answers = {
      holds_leases: ({ connection }) => config.locks.release_on_disconnect && locks.leases.hasConnection(connection),
      list_locks: (query) => listLocks(locks, query),
      list_activity: ({ minutes, limit }) => activity.list(minutes, limit),
      async list_files({ after, limit }) {
        await restoring
        return listTracked(history, after, limit)
      },
      async list_changes({ since, limit }) {
        await restoring
        return recallChanges(history, since, limit)
      }
    }
    app.decorate('receipts', receipts)
    app.decorate('engine', {
      async call(operation, input, call) {
        const turn = turns.next()
        if (turn !== undefined) await turn
        if (restoring !== undefined && !operation.name.startsWith('lock_')) await restoring
        if (isStopping) throw serverStopping()
        const { current } = app.settings
        if (call.progress === undefined) return running.track(operation.call(input, contextOf(current, call)))
        const { report, end } = paceProgress(call.progress, config.mcp.progress_seconds * 1000)
        const answered = operation.call(input, contextOf(current, { ...call, progress: report }))
        return running.track(answered.finally(end))
      },
      disconnect(connection) {
        if (!config.locks.release_on_disconnect) return
        const count = locks.leases.disconnect(connection)
        if (count > 0) app.log.info({ connection, count }, 'leases ended with their connection')
      },
      endPlace: (place) => tickets.giveUp(place),
      places: tickets.places,
      cancelWaits: (connection) => locks.leases.cancelRequests(connection),
      leaseConnections: () => locks.leases.connections(),
      ask: async (question) => answers[question.type](question as never),
      feed: async (listener) => events.follow({}, listener).end,
      steps: running.steps,
      awaitVersions(restored) {
        restoring = restored.catch((error: unknown) => app.log.error({ err: error }, 'versions could not be restored'))
        void restoring.then(() => (restoring = undefined))
      },
      async stop(limitMs) {
        isStopping = true
        locks.close()
        await nativeTurns.end()
        await running.ended(limitMs)
        commits.close()
      }
    } satisfies LocalEngine)
  },
  { name: 'engine', dependencies: ['settings', 'counts', 'request-budget', 'locks', 'files', 'event-hub', 'differ'] }
)
