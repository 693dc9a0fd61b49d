// What a service manager can do for us, whichever it is.
import type { Place } from '../setup/clients.ts'
import type { ServiceDefinition } from './definition.ts'
import { createLaunchd } from './launchd.ts'
import { ServiceManagerError } from './run-tool.ts'
import { createSystemd } from './systemd.ts'
import { createTaskScheduler } from './task-scheduler.ts'

export interface ServiceStatus {
  /** Running, or on the way there. */
  readonly isRunning: boolean
  /** In the words of the service manager. */
  readonly state: string
  readonly pid: number | null
}

/** Names are those that `serviceName` gives. Every method but the first two throws ServiceManagerError where the manager does not do it. */
export interface ServiceManager {
  readonly title: string
  fileOf(name: string): string
  render(definition: ServiceDefinition): string | Buffer
  /** Once its file is there: from the next login on. */
  register(name: string): Promise<void>
  /** Stops it, and has it forgotten; the file is still there. */
  unregister(name: string): Promise<void>
  start(name: string): Promise<void>
  stop(name: string): Promise<void>
  status(name: string): Promise<ServiceStatus>
  /** Commands that register and start it by hand. */
  byHand(name: string): string
}

export interface ManagerPlace extends Place {
  /** Of the data of this user. */
  readonly dataFolder: string
  readonly uid: number
}

/** @throws ServiceManagerError for a platform without a service manager that we know */
export function createServiceManager(place: ManagerPlace): ServiceManager {
  if (place.platform === 'linux') return createSystemd(place)
  if (place.platform === 'darwin') return createLaunchd(place)
  if (place.platform === 'win32') return createTaskScheduler(place)
  throw new ServiceManagerError(`no service manager is known for ${place.platform}: use daemon start`)
}

/** Whether a service manager is known there. */
export function isServicePlatform(platform: NodeJS.Platform): boolean {
  return platform === 'linux' || platform === 'darwin' || platform === 'win32'
}
