// The files in use by their paths: as read last, with what events of leases have said since. The next reading corrects it. Pure.
import type { LockedFile, TreeEvent } from './model.ts'

export type FilesInUse = ReturnType<typeof createFilesInUse>

/** @param mostOfShort a list of no more is read so often that it needs no events */
export function createFilesInUse(mostOfShort: number) {
  let byPath = new Map<string, LockedFile>()
  /** Of the latest reading: they may not be in its answer. */
  let sinceBegin: TreeEvent[] = []

  /** @returns false if they say nothing of leases */
  function apply(events: readonly TreeEvent[]): boolean {
    let isTold = false
    for (const event of events) {
      if (event.type !== 'lease_granted' && event.type !== 'lock_released') continue
      if (event.type === 'lock_released' && event.held_as !== 'lease') continue
      isTold = true
      const { path, agent_id, mode, at } = event
      const { holders, pending_requests } = byPath.get(path) ?? { holders: [], pending_requests: [] }
      const others = holders.filter((holder) => holder.type !== 'lease' || holder.agent_id !== agent_id)
      if (event.type === 'lease_granted') {
        const { note, expires_at } = event
        const lease = {
          type: 'lease',
          mode,
          agent_id,
          acquired_at: at,
          expires_at,
          ...(note !== undefined && { note })
        }
        const waiting = pending_requests.filter((waiter) => waiter.agent_id !== agent_id)
        byPath.set(path, { path, holders: [...others, lease], pending_requests: waiting })
      } else if (others.length + pending_requests.length > 0)
        byPath.set(path, { path, holders: others, pending_requests })
      else byPath.delete(path)
    }
    return isTold
  }

  const size = (): number => byPath.size
  const isLong = (): boolean => byPath.size > mostOfShort

  return {
    size,
    isLong,
    list: (): LockedFile[] => [...byPath.values()],
    /** @returns true if the list is another than before */
    take(events: readonly TreeEvent[]): boolean {
      sinceBegin.push(...events)
      return isLong() && apply(events)
    },
    beginReading(): void {
      sinceBegin = []
    },
    /** All files have been read. */
    setAll(files: readonly LockedFile[]): void {
      byPath = new Map(files.map((file) => [file.path, file]))
      if (isLong()) apply(sinceBegin)
    },
    /** All files that are waited for have been read: for the others none waits any more. */
    setWaitedFor(files: readonly LockedFile[]): void {
      const found = new Set(files.map(({ path }) => path))
      for (const [path, file] of byPath) {
        if (file.pending_requests.length === 0 || found.has(path)) continue
        if (file.holders.length === 0) byPath.delete(path)
        else byPath.set(path, { ...file, pending_requests: [] })
      }
      for (const file of files) byPath.set(file.path, file)
      apply(sinceBegin)
    }
  }
}
