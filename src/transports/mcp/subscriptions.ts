// The files that one session, connection or stream is subscribed to, and its notices: never more than the client reads.
import { OperationError } from '../../errors.ts'
import type { ResourceUpdates } from './resource-updates.ts'

export interface SubscriptionsOptions {
  readonly updates: ResourceUpdates
  /** Maximum number of files. */
  readonly maxResources: number
  /** Notifies the client that this file has another version. */
  readonly send: (uri: string) => void
  /** True while the client has not read what it was sent: changes in that time are sent once, later. */
  readonly isBehind: () => boolean
  /** True while nothing can carry a notice to the client. Default: never. */
  readonly isAway?: () => boolean
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

/** Shortest time between two notices of a file that changes all the time. */
const pauseMs = 100

/** Within this time TCP gives a connection up whose other end confirms nothing: an older notice has arrived. */
const unconfirmedMs = 30 * 60_000

export function createSubscriptions(options: SubscriptionsOptions) {
  const { updates, maxResources, send, isBehind, isAway = () => false } = options
  const ends = new Map<string, () => void>()
  /** Changed since their last notice; no more than there are subscriptions. */
  const changed = new Set<string>()
  /** When each file's last notice was given to the present stream: of one that is dead, it may have arrived or not. By performance.now(). */
  const sent = new Map<string, number>()
  let pause: NodeJS.Timeout | undefined
  let isClosed = false

  function note(uri: string): void {
    changed.add(uri)
    if (pause === undefined) flush()
  }

  function flush(): void {
    pause = undefined
    if (changed.size === 0 || isAway()) return
    pause = setTimeout(flush, pauseMs)
    pause.unref()
    if (isBehind()) return
    const due = [...changed]
    changed.clear()
    for (const uri of due) {
      sent.set(uri, performance.now())
      send(uri)
    }
  }

  function remove(uri: string): void {
    ends.get(uri)?.()
    ends.delete(uri)
    changed.delete(uri)
    sent.delete(uri)
  }

  function close(): void {
    isClosed = true
    clearTimeout(pause)
    for (const uri of ends.keys()) remove(uri)
  }

  /** @throws OperationError; then no subscription has been added */
  function add(uris: readonly string[]): void {
    const added: string[] = []
    try {
      for (const uri of uris) {
        if (ends.has(uri)) continue
        if (ends.size >= maxResources) throw tooMany(maxResources)
        ends.set(
          uri,
          updates.watch(uri, () => note(uri))
        )
        added.push(uri)
      }
    } catch (error) {
      added.forEach(remove)
      throw error
    }
  }

  return {
    /**
     * Subscribing again changes nothing.
     * @param isWanted false if it has been cancelled before it could begin
     * @throws OperationError; then no subscription has been added
     */
    async subscribe(uris: readonly string[], isWanted = () => true): Promise<void> {
      const others = new Set(uris.filter((uri) => !ends.has(uri)))
      // Checked first: a refused request causes no call for events.
      if (ends.size + others.size > maxResources) throw tooMany(maxResources)
      for (const uri of others) updates.check(uri)
      await updates.ready()
      if (!isClosed && isWanted()) add(uris)
    },
    /** A new stream carries the notices from now on, and those again that the one before may not have delivered. */
    renew: (): void => {
      const since = performance.now() - unconfirmedMs
      for (const [uri, at] of sent) if (at > since) changed.add(uri)
      sent.clear()
      if (pause === undefined) flush()
    },
    remove,
    close
  }
}

function tooMany(limit: number): OperationError {
  const message = `Subscribed to ${limit} files already, as many as events.max_resources_per_session allows. Unsubscribe from others first.`
  return new OperationError('OVERLOADED', message)
}
