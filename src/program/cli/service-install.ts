// The service of this user: its definition and its installation, as several commands need them.
import { realpathSync } from 'node:fs'
import { paths } from '../../support/user-paths.ts'
import { serviceName } from '../service/definition.ts'
import type { ServiceManager } from '../service/service-manager.ts'
import { ServiceManagerError } from '../service/run-tool.ts'
import { createServerService } from '../service/server-service.ts'
import { userNamespaceObstacle } from '../service/user-namespaces.ts'
import { servicesOfUser } from '../service/user.ts'
import { makeFolders } from '../setup/folders.ts'
import { readSettings } from '../setup/roots.ts'
import { journalOfUser } from '../setup/user.ts'

export interface ServiceFlags {
  readonly name?: string
  readonly dir?: string[]
  readonly config?: string
  readonly confinement: boolean
}

type Defined = ReturnType<typeof defineService>

/** @throws Error if no root is named */
export function defineService(flags: ServiceFlags) {
  const { roots, areRootsNamed, configFile, isEnabled } = readSettings(flags.dir, flags.config)
  if (roots.length === 0) throw new Error('no root: pass --dir <folder>, or set crud.base_directories')
  const obstacle = process.platform === 'linux' && flags.confinement ? userNamespaceObstacle() : undefined
  if (obstacle !== undefined) warn(`the service is not confined to its folders: ${obstacle} prevents it`)
  const definition = createServerService({
    name: serviceName(flags.name),
    roots,
    areRootsNamed,
    configFile,
    dataFolder: paths.dataFolder,
    logFolder: paths.logFolder,
    environment: process.env,
    platform: process.platform,
    isConfined: flags.confinement && obstacle === undefined
  })
  const settings = Object.keys(process.env).filter((name) => /^ASYNC_CRUD_MCP_\w+__/.test(name))
  if (settings.length > 0) warn(`the service does not see ${settings.join(', ')}: set them in the configuration file`)
  return { definition, roots, isEnabled }
}

/**
 * Writes, registers and starts the service; one that runs from another file is restarted.
 * @param beforeStart removes what must be out of the way by then
 * @throws ServiceManagerError if the service manager fails; the file is there all the same
 */
export async function installService(defined: Defined, beforeStart = async () => {}): Promise<void> {
  const { manager } = servicesOfUser()
  const { name } = defined.definition
  const isNew = writeService(defined)
  try {
    await manager.register(name)
    await beforeStart()
    if (isNew) await manager.stop(name).catch(() => {})
    await manager.start(name)
  } catch (error) {
    if (!(error instanceof ServiceManagerError)) throw error
    throw new ServiceManagerError(adviceOn(error, name, manager), { cause: error })
  }
}

/** @returns whether it changed anything */
export function writeService({ definition, roots }: Defined): boolean {
  const { installer } = servicesOfUser()
  const journal = journalOfUser()
  journal.recordRoots(roots.map((root) => realpathSync.native(root)))
  // The folders that the service is confined to must exist when it starts.
  for (const folder of definition.writable) journal.recordFolders(makeFolders(folder, 0o700))
  return installer.write(definition)
}

export function adviceOn(error: unknown, name: string, manager: ServiceManager): string {
  const reason = error instanceof Error ? error.message : String(error)
  return `${manager.title} could not register ${name} (${reason}). Once ${manager.title} runs: ${manager.byHand(name)}`
}

function warn(message: string): void {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
}
