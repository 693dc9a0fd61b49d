// The paths of this user's files that belong to no tree: configuration, logs, data. By the platform's conventions.
import { join } from 'node:path'
import envPaths from 'env-paths'

/** The one name for everything: folders, services, settings (PRD 13.6). */
export const appName = 'async-crud-mcp'

/** Where a user of Linux has moved these folders. A program that does not get these variables looks elsewhere. */
export const folderVariables: readonly string[] = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']

const { config, data, log } = envPaths(appName, { suffix: '' })

export const paths = {
  configFile: join(config, 'config.json'),
  /** Of the background server: its pid file and the like. */
  dataFolder: data,
  logFolder: log
} as const
