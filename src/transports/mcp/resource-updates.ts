// The files that the clients of this process are subscribed to: one lookup per event, however many clients there are.
import type { FileStore } from '../../engine/files/file-store.ts'
import { OperationError } from '../../errors.ts'
import type { Events, Following } from '../../engine/events/event-hub.ts'
import { toPath } from './resource-uri.ts'
import type { TreeEvent } from '../../engine/events/tree-event.ts'

export interface ResourceUpdatesOptions {
  readonly events: Events
  readonly files: Pick<FileStore, 'resolve'>
  /** Resolves once the events of the tree reach `events`. */
  readonly bringEvents: () => Promise<void>
}

export type ResourceUpdates = ReturnType<typeof createResourceUpdates>

/** Over all clients. */
const maxWatches = 100_000

export function createResourceUpdates({ events, files, bringEvents }: ResourceUpdatesOptions) {
  const watches = new Map<string, Set<() => void>>()
  let count = 0
  let following: Following | undefined

  function notify(path: string): void {
    for (const onUpdated of watches.get(path) ?? []) onUpdated()
  }

  function onEvent(event: TreeEvent): void {
    if ('path' in event) return notify(event.path)
    // A gap or an event of very many changes does not say which files it is about.
    for (const path of watches.keys()) notify(path)
  }

  function add(path: string, onUpdated: () => void): void {
    const known = watches.get(path) ?? new Set()
    watches.set(path, known.add(onUpdated))
    following ??= events.follow(
      { types: new Set(['file_changed']), matchesPath: (other) => watches.has(other) },
      onEvent
    )
  }

  function remove(path: string, onUpdated: () => void): void {
    const known = watches.get(path)
    known?.delete(onUpdated)
    if (known?.size === 0) watches.delete(path)
    if (watches.size > 0) return
    following?.end()
    following = undefined
  }

  function placesOf(uri: string): ReadonlySet<string> {
    const path = toPath(uri)
    return new Set([files.resolve(path, 'target').path, files.resolve(path, 'entry').path])
  }

  return {
    /** @throws OperationError for anything but a file below the roots */
    check: (uri: string): void => void placesOf(uri),
    /** Await it before `watch`. @throws OperationError */
    ready: bringEvents,
    /**
     * Calls `onUpdated` for each change of the file from now on, and when changes may have been missed.
     * @returns a function that ends it @throws OperationError for anything but a file below the roots, and OVERLOADED
     */
    watch(uri: string, onUpdated: () => void): () => void {
      if (count >= maxWatches)
        throw new OperationError(
          'OVERLOADED',
          `Clients are subscribed to ${maxWatches} files already. Try again later.`
        )
      const places = placesOf(uri)
      for (const place of places) add(place, onUpdated)
      count += 1
      let isEnded = false
      return () => {
        if (isEnded) return
        isEnded = true
        count -= 1
        for (const place of places) remove(place, onUpdated)
      }
    }
  }
}
