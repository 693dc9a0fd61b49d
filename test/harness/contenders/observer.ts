// Looks at the lock table again and again, from outside.
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { LockList } from '../../../schemas/lock-list.ts'
import { now, type Entry, type Snapshot } from './history.ts'

const intervalMs = 15

export interface Observer {
  readonly snapshots: readonly Snapshot[]
  stop(): Promise<void>
}

export function startObserver(url: string): Observer {
  const snapshots: Snapshot[] = []
  const stopping = new AbortController()
  const watching = watch(stopping.signal)
  // Learnt of by whoever stops it.
  watching.catch(() => {})

  async function watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      snapshots.push(await takeSnapshot(url))
      await delay(intervalMs)
    }
  }

  return {
    snapshots,
    async stop() {
      stopping.abort()
      await watching
    }
  }
}

export async function takeSnapshot(url: string): Promise<Snapshot> {
  const sentAt = now()
  const response = await fetch(`${url}/locks`)
  const { files, timestamp } = (await response.json()) as LockList
  const receivedAt = now()
  return {
    sentAt,
    receivedAt,
    serverTime: Date.parse(timestamp),
    files: files.map(({ path, holders, pending_requests }) => ({
      file: basename(path),
      holders: holders.map(({ type, mode, agent_id, acquired_at, expires_at, fencing_token }): Entry => ({
        isLease: type === 'lease',
        mode: mode,
        agent: agent_id ?? '',
        since: Date.parse(acquired_at),
        endsAt: expires_at === null ? undefined : Date.parse(expires_at),
        token: fencing_token ?? undefined,
        isParked: false
      })),
      waiters: pending_requests.map(({ type, mode, agent_id, queued_at, timeout_at, parked }): Entry => ({
        isLease: type === 'lease',
        mode: mode,
        agent: agent_id ?? '',
        since: Date.parse(queued_at),
        endsAt: Date.parse(timeout_at),
        isParked: parked === true
      }))
    }))
  }
}
