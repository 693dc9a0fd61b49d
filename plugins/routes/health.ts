// GET /health (PRD 11.2): whether the process can do its work, checked within a bounded time.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import type { Health } from '../../schemas/health.ts'
import { routes } from '../../schemas/routes.ts'
import { uptimeSeconds } from '../../src/support/uptime.ts'
import { createRootProbe } from '../../src/engine/files/root-health.ts'

/** A slower authority or file system blocks calls, too. */
const probeMs = 1000

export default fp(
  async (app) => {
    const probeRoots = createRootProbe(app.files.roots)
    const typed = app.withTypeProvider<TypeBoxTypeProvider>()
    typed.get('/health', { schema: routes['/health'] }, async (): Promise<Health> => {
      const { version } = app.serverFacts
      const [roots, authority] = await Promise.all([probeRoots(probeMs), app.tree.findObstacle(probeMs)])
      app.degradations.set('roots', roots)
      app.degradations.set('authority', authority)
      const degraded = app.degradations.list()
      return {
        status: degraded.length > 0 ? 'degraded' : 'healthy',
        degraded,
        version,
        uptime_seconds: uptimeSeconds(),
        port_listening: app.server.listening,
        event_loop_delay_ms: { p50: app.loopDelay.percentile(50), p99: app.loopDelay.percentile(99) },
        bytes_in_flight: app.requestBudget.use,
        memory_bytes: process.memoryUsage.rss(),
        watcher: {
          state: watcherState(),
          watched_directories: app.watcher?.watchedFolders ?? 0,
          tracked_files: app.history.trackedFiles
        },
        role: app.tree.role(),
        authority_pid: app.tree.authorityPid(),
        ...hostsHealth(),
        mcp_sessions: app.mcpSessions()
      }
    })

    function hostsHealth(): Pick<Health, 'hosts'> {
      const facts = app.tree.hostFacts()
      if (facts === undefined) return {}
      const { epoch = null, authority = null, leaseMs, endpoints } = facts
      return { hosts: { epoch, authority, lease_seconds: Math.round(leaseMs) / 1000, etcd: [...endpoints] } }
    }

    function watcherState(): Health['watcher']['state'] {
      if (app.watcher === undefined || app.tree.role() === 'relay') return 'off'
      return app.watcher.shortage === undefined ? 'watching' : 'degraded'
    }
  },
  { name: 'health', dependencies: ['authority', 'files', 'watcher', 'degradations', 'loop-delay'] }
)
