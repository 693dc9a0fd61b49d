// Takes up a configuration that has changed while the server runs, and says in the log what of it is in force.
import { levels } from 'pino'
import type { Logger } from '../support/logger.ts'
import { isLoopback } from '../support/loopback.ts'
import type { Config } from './config.ts'
import { ConfigError } from './layer.ts'
import type { LiveSettings } from './live-settings.ts'

/** @param load reads all settings again */
export function takeUp(
  load: () => { readonly config: Config },
  settings: LiveSettings,
  log: Logger & { level: string }
): void {
  let next: Config
  try {
    next = load().config
  } catch (error) {
    if (!(error instanceof ConfigError)) log.error({ err: error }, 'the configuration could not be read again')
    else log.error({}, `the changed configuration is not used, the last valid one stays in force: ${error.message}`)
    return
  }
  const { host } = settings.current.daemon
  if (next.daemon.token === '' && !isLoopback(host))
    return log.error(
      {},
      `the changed configuration is not used: it has no daemon.token, and ${host} is reachable from other machines`
    )
  const { log_level } = next.daemon
  const changes = settings.update(next)
  // The log of the changes uses the more verbose of the two levels.
  if (severity(log_level) < severity(log.level)) log.level = log_level
  for (const { setting, value, needsRestart } of changes) {
    if (needsRestart)
      log.warn({ setting, value }, `${setting} has changed in the configuration: restart the server to use it`)
    else log.info({ setting, value }, `${setting} has changed in the configuration and is in force from now on`)
  }
  log.level = log_level
}

function severity(level: string): number {
  return levels.values[level] ?? Infinity
}
