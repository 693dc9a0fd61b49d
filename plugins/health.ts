// GET /health (PRD 11.2): whether the process can do its work, checked within a bounded time.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import type { Health } from '../schemas/health.ts'
import { routes } from '../schemas/routes.ts'
import { uptimeSeconds } from '../src/support/uptime.ts'
import { createRootProbe } from '../src/engine/files/root-health.ts'

const resolutionMs = 10
const windowMs = 60_000
/** A slower authority or file system blocks calls, too. */
const probeMs = 1000

export default fp(
  async (app) => {
    const delay = monitorEventLoopDelay({ resolution: resolutionMs })
    delay.enable()
    // An old block says nothing about the present.
    const renewal = setInterval(() => delay.reset(), windowMs)
    renewal.unref()
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
        event_loop_delay_ms: { p50: toMs(delay.percentile(50)), p99: toMs(delay.percentile(99)) },
        bytes_in_flight: app.requestBudget.use,
        memory_bytes: process.memoryUsage.rss(),
        watcher: {
          state: watcherState(),
          watched_directories: app.watcher?.watchedFolders ?? 0,
          tracked_files: app.history.trackedFiles
        },
        role: app.tree.role(),
        authority_pid: app.tree.authorityPid(),
        mcp_sessions: app.mcpSessions()
      }
    })

    function watcherState(): Health['watcher']['state'] {
      if (app.watcher === undefined || app.tree.role() === 'relay') return 'off'
      return app.watcher.shortage === undefined ? 'watching' : 'degraded'
    }

    app.addHook('onClose', async () => {
      clearInterval(renewal)
      delay.disable()
    })
  },
  { name: 'health', dependencies: ['authority', 'files', 'watcher', 'degradations'] }
)

/** The histogram includes the timer's own interval. */
function toMs(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e4) / 100 - resolutionMs)
}
