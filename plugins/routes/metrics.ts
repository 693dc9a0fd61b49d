// GET /metrics: what Prometheus collects, without names of files or agents.
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import { preferredType } from '../../src/transports/accept.ts'
import { readFamilies } from '../../src/transports/metrics/metrics.ts'

export default fp(
  async (app) => {
    const { counts, callCounts, locks, requestBudget: budget, tree, serverFacts: server } = app
    const { bases, history, reads, degradations } = app
    const sources = {
      counts,
      callCounts,
      locks,
      budget,
      tree,
      hosts: tree.hostFacts,
      server,
      cacheBytes() {
        const { contents, texts } = bases.sizes
        return { versions: contents, texts, history: history.bytes, reads: reads.bytes }
      },
      watcher: () => ({
        folders: app.watcher?.watchedFolders ?? 0,
        isShort: app.watcher?.shortage !== undefined,
        trackedFiles: history.trackedFiles
      }),
      loopDelayMs: app.loopDelay.percentile,
      mcpSessions: app.mcpSessions,
      degradedParts: () => degradations.list().length
    }
    app.get('/metrics', { schema: routes['/metrics'] }, async (request, reply) => {
      const wanted = preferredType(request.headers.accept, ['text/plain', 'application/openmetrics-text'])
      const { writeMetrics } = await import('../../src/transports/metrics/write.ts')
      const { type, text } = await writeMetrics(readFamilies(sources), wanted === 'application/openmetrics-text')
      return reply.header('vary', 'accept, origin').type(type).send(text)
    })
  },
  { name: 'metrics', dependencies: ['counts', 'loop-delay', 'authority', 'watcher', 'mcp', 'errors', 'access'] }
)
