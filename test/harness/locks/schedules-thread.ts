// The thread of checkInThread.
import { workerData } from 'node:worker_threads'
import { checkSchedules } from './lock-schedules.ts'

const { managerUrl, parameters } = workerData
const { createLockManager } = await import(managerUrl)
await checkSchedules(createLockManager, parameters)
