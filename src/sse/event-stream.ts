// One stream of events as Server-Sent Events: within bounds of memory, however slowly it is read.
import type { Writable } from 'node:stream'
import type { Ready } from '../../schemas/events.ts'
import type { TreeEvent } from '../operations/events.ts'

export interface EventStreamOptions {
  readonly output: Writable
  /** What may be left unread. */
  readonly maxBytes: number
  /** @returns the event that ends the stream of one who reads too slowly; who comes back to its id gets what follows the last event he was sent */
  readonly makeGap: (id: string) => TreeEvent
  /** Called once, when no further events are taken. */
  readonly onEnd: () => void
}

export type EventStream = ReturnType<typeof createEventStream>

/** Who has been cut off gets this long to read what has been sent to him. */
const lingerMs = 5000
/** After a break clients come back no sooner, in milliseconds. */
const retryMs = 1000

export function createEventStream({ output, maxBytes, makeGap, onEnd }: EventStreamOptions) {
  /** Not yet given to the connection. The bytes are those of all streams, so that many slow ones cost little more than one. */
  let waiting: Frame[] = []
  let waitingBytes = 0
  /** Of the last event given to the connection. */
  let lastId = ''
  let isEnded = false
  output.on('drain', flush)
  output.once('close', end)
  // A failure of the connection is followed by its close.
  output.on('error', () => {})

  function end(): void {
    if (isEnded) return
    isEnded = true
    waiting = []
    onEnd()
  }

  function put(frame: Frame): void {
    output.write(frame.bytes)
    lastId = frame.id ?? lastId
  }

  function flush(): void {
    let sent = 0
    for (const frame of waiting) {
      if (output.writableNeedDrain) break
      put(frame)
      waitingBytes -= frame.bytes.length
      sent += 1
    }
    waiting.splice(0, sent)
  }

  function write(frame: Frame): void {
    if (isEnded) return
    if (waiting.length === 0 && !output.writableNeedDrain) return put(frame)
    waiting.push(frame)
    waitingBytes += frame.bytes.length
    if (waitingBytes > maxBytes) cut()
  }

  function cut(): void {
    end()
    put(frameOf(makeGap(lastId)))
    close()
  }

  function close(): void {
    end()
    output.end()
    setTimeout(() => output.destroy(), lingerMs).unref()
  }

  return {
    /** @param position the event before the first that will be sent; undefined where events that were missed are sent first */
    open(ready: Ready, position: string | undefined): void {
      if (position !== undefined) lastId = position
      write({ bytes: Buffer.from(`retry: ${retryMs}\n${textOf(ready, position)}`), id: position })
    },
    send: (event: TreeEvent): void => write(frameOf(event)),
    /** @param position the last event that was looked at for this stream: who comes back misses nothing of what is not followed */
    beat(position: string): void {
      if (waiting.length === 0) write({ bytes: Buffer.from(`: alive\nid: ${position}\n\n`), id: position })
    },
    close
  }
}

interface Frame {
  readonly bytes: Buffer
  readonly id: string | undefined
}

/** Written once, however many it is sent to. */
const frames = new WeakMap<TreeEvent, Frame>()

function frameOf(event: TreeEvent): Frame {
  const known = frames.get(event)
  if (known !== undefined) return known
  const frame = { bytes: Buffer.from(textOf(event, event.id)), id: event.id }
  frames.set(event, frame)
  return frame
}

function textOf(event: TreeEvent | Ready, id: string | undefined): string {
  const place = id === undefined ? '' : `id: ${id}\n`
  return `event: ${event.type}\n${place}data: ${JSON.stringify(event)}\n\n`
}
