// The roots, the configuration and the server that a command means if it is not the server itself.
import { existsSync, realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadSettings, type SettingSources } from '../../config/config.ts'
import { ConfigError } from '../../config/layer.ts'
import { findServer } from '../../tree/state/state-file.ts'

export interface CommandSettings {
  /** Absolute, as given. */
  readonly roots: readonly string[]
  /** False if the configuration names them. */
  readonly areRootsNamed: boolean
  /** Absolute; undefined if there is no file to read. */
  readonly configFile: string | undefined
  readonly isEnabled: boolean
  readonly token: string
  readonly port: number | null
  readonly logFile: string | null
  /** What the operator should know. */
  readonly warnings: readonly string[]
}

/**
 * @param named roots that the user names; without any, those of the configuration count
 * @throws Error for a wrong setting, or a root that is not a directory
 */
export function readSettings(named: readonly string[] | undefined, config?: string): CommandSettings {
  return read(named, { environment: process.env, configFile: config })
}

/** For commands that look at a server or stop it: reports wrong settings, and continues without them. */
export function readSettingsIfRight(named: readonly string[] | undefined, config?: string): CommandSettings {
  try {
    return readSettings(named, config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`async-crud-mcp: ${error.message}; this command goes on without the settings\n`)
    return read(named, { environment: { ASYNC_CRUD_MCP_CONFIG: '' } })
  }
}

function read(named: readonly string[] | undefined, sources: SettingSources): CommandSettings {
  const { config: settings, file, warnings } = loadSettings(sources)
  const { enabled, token, port, log_file } = settings.daemon
  return {
    roots: (named ?? settings.crud.base_directories).map(toRoot),
    areRootsNamed: named !== undefined,
    configFile: file !== undefined && existsSync(file.path) ? file.path : undefined,
    isEnabled: enabled,
    token,
    port,
    logFile: log_file,
    warnings
  }
}

/** The MCP address of the server that runs on the first root, else the address that it would have. */
export function findUrl({ roots: [root], port }: CommandSettings): string {
  const running = root === undefined ? undefined : findServer(realpathSync.native(root))
  if (running?.url !== undefined && running.url !== null) return running.url
  if (port === null) throw new Error('no server runs on this tree, and its port is not fixed: start it, or pass --url')
  return `http://127.0.0.1:${port}/mcp`
}

function toRoot(given: string): string {
  const path = resolve(given)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Error(`the root ${given} is not a directory`)
  return path
}
