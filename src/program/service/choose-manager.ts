// The service manager of this platform.
import { createLaunchd } from './launchd.ts'
import { ServiceManagerError } from './run-tool.ts'
import { createSystemd } from './systemd.ts'
import type { ManagerEnvironment, ServiceManager } from './service-manager.ts'
import { createTaskScheduler } from './task-scheduler.ts'

/** @throws ServiceManagerError for a platform without a service manager that we know */
export function createServiceManager(place: ManagerEnvironment): ServiceManager {
  if (place.platform === 'linux') return createSystemd(place)
  if (place.platform === 'darwin') return createLaunchd(place)
  if (place.platform === 'win32') return createTaskScheduler(place)
  throw new ServiceManagerError(`no service manager is known for ${place.platform}: use daemon start`)
}

/** Whether a service manager is known there. */
export function isServicePlatform(platform: NodeJS.Platform): boolean {
  return platform === 'linux' || platform === 'darwin' || platform === 'win32'
}
