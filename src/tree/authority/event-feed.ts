// Brings the events of the tree to the hub of this process, whichever process is the authority.
import type { Events } from '../../engine/events/event-hub.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'

/** @param onError called if the events of an authority cannot be had: it has gone, and another takes over */
export function createEventFeed(events: Events, onError: (error: unknown) => void) {
  let source: { readonly relay: EngineLink; readonly feeding: Promise<() => void> } | undefined
  events.addSource(() => end)

  /** Resolves once this authority's events reach the hub. */
  async function begin(relay: EngineLink): Promise<void> {
    if (source?.relay !== relay) source = { relay, feeding: relay.feed(events.pass) }
    const begun = source
    try {
      await begun.feeding
      // Without a follower the feed ends after all.
      events.expect()
    } catch (error) {
      if (source === begun) source = undefined
      throw error
    }
  }

  function end(): void {
    source?.feeding.then(
      (stop) => stop(),
      () => {}
    )
    source = undefined
  }

  return {
    begin,
    /** This process relays to another authority than before. */
    changeTo(relay: EngineLink): void {
      if (!events.isFollowed) return
      // Sent last: a follower that looks again then misses nothing.
      begin(relay).then(() => events.gap('authority_changed'), onError)
    },
    /** The engine of this process is that of the tree from now on, and notifies the hub itself. */
    takeOver(): void {
      if (source === undefined) return
      source = undefined
      events.gap('authority_changed')
    }
  }
}
