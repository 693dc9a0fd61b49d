// The thread of checkInThread.
import { workerData } from 'node:worker_threads'
import { checkHistories } from './lease-histories.ts'

const { managerUrl, parameters } = workerData
const { createLockManager } = await import(managerUrl)
await checkHistories(createLockManager, parameters)
