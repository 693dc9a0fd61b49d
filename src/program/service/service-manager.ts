// What a service manager can do for us, whichever it is.
import type { UserEnvironment } from '../setup/clients.ts'
import type { ServiceDefinition } from './definition.ts'

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

export interface ManagerEnvironment extends UserEnvironment {
  /** Of the data of this user. */
  readonly dataFolder: string
  readonly uid: number
}
