// The server as a service: its command, and what it may write.
import { join } from 'node:path'
import { appName, folderVariables } from '../../support/user-paths.ts'
import { mainPath } from '../../support/installation.ts'
import { nodePath } from '../setup/own-program.ts'
import type { ServiceDefinition } from './definition.ts'

export interface ServerServiceOptions {
  readonly name: string
  /** Absolute. */
  readonly roots: readonly string[]
  /** True if the command line names them, not the configuration. */
  readonly areRootsNamed: boolean
  /** Absolute; undefined if there is none to read. */
  readonly configFile: string | undefined
  readonly dataFolder: string
  readonly logFolder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly isConfined: boolean
}

export function createServerService(options: ServerServiceOptions): ServiceDefinition {
  const { name, roots, areRootsNamed, configFile, dataFolder, logFolder, environment, platform, isConfined } = options
  // A service manager does not know the variables of a shell.
  const variables = platform === 'linux' ? folderVariables : []
  return {
    name,
    description: `${appName}: one working tree for many agents at once`,
    command: [
      nodePath(),
      mainPath,
      'serve',
      '--as-service',
      '--transport',
      'http',
      ...(configFile === undefined ? [] : ['--config', configFile]),
      ...(areRootsNamed ? roots.flatMap((root) => ['--dir', root]) : []),
      '--log-file',
      'auto'
    ],
    environment: Object.fromEntries(
      variables.flatMap((name) => (environment[name] ? [[name, environment[name]]] : []))
    ),
    writable: [...roots, dataFolder, logFolder],
    outputFile: join(logFolder, `${name}.out`),
    isConfined
  }
}
