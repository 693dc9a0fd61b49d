// app.settings: the current settings. Follows the configuration file while the server runs.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { createLiveSettings, type LiveSettings } from '../../src/config/live-settings.ts'
import { takeUp } from '../../src/config/take-up.ts'
import { watchFile } from '../../src/config/watch-file.ts'

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
    const stop = watchFile({
      path: reload.path,
      pollMs: () => settings.current.daemon.config_poll_seconds * 1000,
      settleMs: () => settings.current.daemon.config_debounce_seconds * 1000,
      onChange: () => takeUp(reload.load, settings, app.log)
    })
    app.addHook('onClose', async () => stop())
  },
  { name: 'settings' }
)
