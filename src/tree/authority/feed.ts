// All events of the authority for one relay, within bounds of memory: a relay that does not read is told that events are missing.
import type { EventListener, TreeEvent } from '../../engine/events/tree-event.ts'
import type { Channel } from './channel.ts'
import type { AuthorityMessage } from './messages.ts'

/** A relay that leaves this much unread gets no further events until it has read half of it. */
const maxUnreadBytes = 16_777_216

export function createFeed({ send, unread }: Pick<Channel<AuthorityMessage>, 'send' | 'unread'>): EventListener {
  let isBehind = false

  function gapBefore({ id, at }: TreeEvent): TreeEvent {
    return { id: `${id}-missed`, type: 'gap', at, reason: 'too_slow' }
  }

  return (event) => {
    const isTooMuch = unread() > (isBehind ? maxUnreadBytes / 2 : maxUnreadBytes)
    // Sent when events begin to be missing, and again when they resume: a follower that looks again after the first only sees too little.
    if (isTooMuch !== isBehind) send({ type: 'event', event: gapBefore(event) })
    isBehind = isTooMuch
    if (!isTooMuch) send({ type: 'event', event })
  }
}
