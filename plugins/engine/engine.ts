// app.engine: runs operations on the lock table and the files of this process itself.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { createActivityLog } from '../../src/engine/activity/activity.ts'
import type { ServerFacts } from '../../src/engine/call/context.ts'
import { createCallTurns } from '../../src/engine/call/call-turns.ts'
import { createLocalEngine, type LocalEngine } from '../../src/engine/call/local-engine.ts'
import { followHistory } from '../../src/engine/events/file-events.ts'
import { followLocks } from '../../src/engine/events/lock-events.ts'
import { offeredTools } from '../../src/transports/mcp/offered-tools.ts'
import { createReadTracker, type ReadTracker } from '../../src/engine/seen/read-tracker.ts'
import { createNativeTurns } from '../../src/engine/leases/native-turns.ts'
import { createReceipts, type Receipts } from '../../src/engine/receipts/receipts.ts'

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
    const { locks, lostLeases, tickets, files, commits, commands, differ, bases, history, layers, events } = app
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
    activity.stays.follow(locks.leases)
    history.onEntry(({ agentId, steps }) => activity.agents.count(agentId, 'changes', steps.length))
    const nativeTurns = createNativeTurns()
    const server: ServerFacts = {
      version,
      port: undefined,
      persistence: 'disabled',
      transport: config.daemon.transport,
      toolCount: offeredTools(config.mcp).length
    }
    const parts = {
      locks,
      lostLeases,
      tickets,
      reads,
      receipts,
      nativeTurns,
      commands,
      files,
      commits,
      differ,
      bases,
      history,
      layers,
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
    const turns = createCallTurns()
    app.server.on('connection', (connection) => turns.noteClient(connection))
    events.addSource((publish) => followHistory(history, publish))
    events.addSource((publish) => followLocks(locks, publish))
    app.decorate('serverFacts', server)
    app.decorate('reads', reads)
    app.decorate('receipts', receipts)
    app.decorate(
      'engine',
      createLocalEngine({
        parts,
        config: () => app.settings.current,
        turns,
        progressMs: config.mcp.progress_seconds * 1000,
        releaseOnDisconnect: config.locks.release_on_disconnect
      })
    )
  },
  {
    name: 'engine',
    dependencies: ['settings', 'counts', 'request-budget', 'locks', 'files', 'commands', 'event-hub', 'differ']
  }
)
