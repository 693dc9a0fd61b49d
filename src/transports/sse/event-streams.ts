// The open streams of GET /events: what each follows, and the signs of life of idle ones.
import type { ServerResponse } from 'node:http'
import type { Ready } from '../../../schemas/events.ts'
import type { Events, Following, FollowOptions } from '../../engine/events/event-hub.ts'
import type { EventFilter } from '../../engine/events/tree-event.ts'
import { createEventStream, type EventStream } from './event-stream.ts'

interface StreamsOptions {
  readonly events: Events
  /** Unread bytes that one stream may have. */
  readonly maxBytes: number
  /** Between two signs of life. */
  readonly beatMs: number
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Some proxies hold an answer back until it is complete.
  'x-accel-buffering': 'no'
}

export function createEventStreams({ events, maxBytes, beatMs }: StreamsOptions) {
  const streams = new Map<EventStream, Following>()
  let beating: NodeJS.Timeout | undefined

  function beatLater(): NodeJS.Timeout {
    return setTimeout(() => {
      for (const [stream, { position }] of streams) stream.beat(position())
      beating = streams.size === 0 ? undefined : beatLater()
    }, beatMs).unref()
  }

  return {
    get size(): number {
      return streams.size
    },
    /** @param beforeOutput called once the stream has its place among the followers, before anything is written */
    open(
      output: ServerResponse,
      filter: EventFilter,
      ready: Ready,
      place: Pick<FollowOptions, 'after' | 'recalled'>,
      beforeOutput: () => void
    ): void {
      const following = events.follow(filter, (event) => stream.send(event), { ...place, onStop: () => stream.close() })
      beforeOutput()
      const stream = createEventStream({
        output,
        maxBytes,
        makeGap: (id) => events.makeGap('too_slow', id),
        onEnd() {
          streams.delete(stream)
          following.end()
        }
      })
      // The client may have gone while this process joined the tree.
      if (output.destroyed) return stream.close()
      streams.set(stream, following)
      beating ??= beatLater()
      output.writeHead(200, headers)
      const { missed, isWanted } = following
      const { after } = place
      stream.open({
        ready,
        position: after ?? following.position(),
        missed: after === undefined ? undefined : { events: missed, isWanted }
      })
    }
  }
}
