// app.watcher: notices changes by other programs when they happen, not at the next look.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { external } from '../../src/engine/versions/author.ts'
import { explainShortage } from '../../src/engine/watcher/advice.ts'
import { createWatcher, type Watcher } from '../../src/engine/watcher/watcher.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined if it is switched off. */
    watcher: Watcher | undefined
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { watcher: settings } }) => {
    const { locks, files, bases, history, events, degradations, commands } = app
    if (!settings.enabled) {
      app.decorate('watcher', undefined)
      return
    }
    const watcher = createWatcher({
      locks,
      files,
      bases,
      history,
      roots: files.roots,
      debounceMs: settings.debounce_ms,
      rescanMs: settings.rescan_seconds * 1000,
      bulkFiles: settings.bulk_files,
      onTouch: (path, isFolder) => commands.touch(path, isFolder),
      onSame: (path) => commands.untouch(path),
      onShortage: (shortage) => degradations.set('watcher', shortage && explainShortage(shortage)),
      onError: (error) => app.log.error({ err: error }, 'a file that may have changed could not be examined')
    })
    watcher.onBulk(({ count, examples }) => {
      const { agentId, operation } = external
      events.publish({ type: 'file_changed', bulk: true, agent_id: agentId, operation, count, paths: [...examples] })
      app.log.info({ count, examples }, 'many files were changed from outside')
    })
    app.decorate('watcher', watcher)
    app.addHook('onClose', () => watcher.close())
  },
  { name: 'watcher', dependencies: ['settings', 'degradations', 'files', 'event-hub', 'locks', 'commands'] }
)
