// app.settings: the current settings. Follows the configuration file while the server runs.
import fp from 'fastify-plugin'
import { levels } from 'pino'
import type { Config } from '../src/config/config.ts'
import { ConfigError } from '../src/config/layer.ts'
import { createLiveSettings, type LiveSettings } from '../src/config/live-settings.ts'
import { isLoopback } from '../src/support/loopback.ts'
import { watchFile } from '../src/config/watch-file.ts'

declare module 'fastify' {
  interface FastifyInstance {
    settings: LiveSettings
  }
}

export interface ReloadOptions {
  /** The configuration file. */
  readonly path: string
  /** Reads all settings again, from the same sources as at the start. */
  readonly load: () => { readonly config: Config }
}

export default fp<{ config: Config; reload?: ReloadOptions | undefined }>(
  async (app, { config, reload }) => {
    const settings = createLiveSettings(config)
    app.decorate('settings', settings)
    if (reload === undefined) return
    const { path, load } = reload
    const stop = watchFile({
      path,
      pollMs: () => settings.current.daemon.config_poll_seconds * 1000,
      settleMs: () => settings.current.daemon.config_debounce_seconds * 1000,
      onChange() {
        try {
          takeUp(load().config)
        } catch (error) {
          if (!(error instanceof ConfigError))
            app.log.error({ err: error }, 'the configuration could not be read again')
          else
            app.log.error(`the changed configuration is not used, the last valid one stays in force: ${error.message}`)
        }
      }
    })
    app.addHook('onClose', async () => stop())

    function takeUp(next: Config): void {
      const { host } = settings.current.daemon
      if (next.daemon.token === '' && !isLoopback(host)) {
        app.log.error(
          `the changed configuration is not used: it has no daemon.token, and ${host} is reachable from other machines`
        )
        return
      }
      const { log_level } = next.daemon
      const changes = settings.update(next)
      // The log of the changes uses the more verbose of the two levels.
      if (severity(log_level) < severity(app.log.level)) app.log.level = log_level
      for (const { setting, value, needsRestart } of changes) {
        if (needsRestart)
          app.log.warn({ setting, value }, `${setting} has changed in the configuration: restart the server to use it`)
        else app.log.info({ setting, value }, `${setting} has changed in the configuration and is in force from now on`)
      }
      app.log.level = log_level
    }
  },
  { name: 'settings' }
)

function severity(level: string): number {
  return levels.values[level] ?? Infinity
}
