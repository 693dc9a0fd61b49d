// The operations that every service manager offers us.
import type { UserEnvironment } from '../setup/clients.ts'
import type { ServiceDefinition } from './definition.ts'

export interface ServiceStatus {
  /** Running, or starting. */
  readonly isRunning: boolean
  /** In the words of the service manager. */
  readonly state: string
  readonly pid: number | null
}

/** `serviceName` gives the names. Every method but the first two throws ServiceManagerError if the manager fails. */
export interface ServiceManager {
  readonly title: string
  fileOf(name: string): string
  render(definition: ServiceDefinition): string | Buffer
  /** Call it once the file is there: the service then starts at every login. */
  register(name: string): Promise<void>
  /** Stops the service, and makes the manager forget it; the file stays. */
  unregister(name: string): Promise<void>
  start(name: string): Promise<void>
  stop(name: string): Promise<void>
  status(name: string): Promise<ServiceStatus>
  /** The commands that register and start it by hand. */
  byHand(name: string): string
}

export interface ManagerEnvironment extends UserEnvironment {
  /** Of the data of this user. */
  readonly dataFolder: string
  readonly uid: number
}
