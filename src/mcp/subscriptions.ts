// The files that one session, connection or stream is subscribed to, and the telling: never more than its client reads.
import { OperationError } from '../errors.ts'
import type { ResourceUpdates } from './resource-updates.ts'

export interface SubscriptionsOptions {
  readonly updates: ResourceUpdates
  /** Bound on the files. */
  readonly maxResources: number
  /** Tells the client that this one has another version. */
  readonly send: (uri: string) => void
  /** True while the client has not read what it was sent: what changes meanwhile is told once, later. */
  readonly isBehind: () => boolean
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

/** A file that changes all the time is told of so often. */
const pauseMs = 100

export function createSubscriptions({ updates, maxResources, send, isBehind }: SubscriptionsOptions) {
  const ends = new Map<string, () => void>()
  /** Changed since they were told of; no more than there are subscriptions. */
  const changed = new Set<string>()
  let pause: NodeJS.Timeout | undefined
  let isClosed = false

  function tell(uri: string): void {
    changed.add(uri)
    if (pause === undefined) flush()
  }

  function flush(): void {
    pause = undefined
    if (changed.size === 0) return
    pause = setTimeout(flush, pauseMs)
    pause.unref()
    if (isBehind()) return
    const told = [...changed]
    changed.clear()
    for (const uri of told) send(uri)
  }

  function remove(uri: string): void {
    ends.get(uri)?.()
    ends.delete(uri)
    changed.delete(uri)
  }

  function close(): void {
    isClosed = true
    clearTimeout(pause)
    for (const uri of ends.keys()) remove(uri)
  }

  return {
    /** After `updates.ready`. Subscribing again changes nothing. @throws OperationError; then it is subscribed to none of them that it was not before */
    add(uris: readonly string[]): void {
      if (isClosed) return
      const added: string[] = []
      try {
        for (const uri of uris) {
          if (ends.has(uri)) continue
          if (ends.size >= maxResources) throw tooMany(maxResources)
          ends.set(
            uri,
            updates.watch(uri, () => tell(uri))
          )
          added.push(uri)
        }
      } catch (error) {
        added.forEach(remove)
        throw error
      }
    },
    remove,
    close
  }
}

function tooMany(limit: number): OperationError {
  const message = `Subscribed to ${limit} files already, as many as events.max_resources_per_session allows. Unsubscribe from others first.`
  return new OperationError('OVERLOADED', message)
}
