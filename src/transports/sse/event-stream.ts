// One stream of events as Server-Sent Events: within bounds of memory, however slowly it is read.
import type { Writable } from 'node:stream'
import type { Ready } from '../../../schemas/events.ts'
import type { TreeEvent } from '../../engine/events/tree-event.ts'

export interface EventStreamOptions {
  readonly output: Writable
  /** Bound on the unread bytes of new events. */
  readonly maxBytes: number
  /** @returns the event that ends the stream of a slow reader. A client that comes back to its id gets the events after the last one sent to it */
  readonly makeGap: (id: string) => TreeEvent
  /** Called once, when no further events are taken. */
  readonly onEnd: () => void
}

/** The beginning of the stream. */
export interface Opening {
  readonly ready: Ready
  /** The event before the first that will be sent: where the stream begins, or where the client's last stream ended. */
  readonly position: string
  /** For a client that comes back; undefined for a new one. */
  readonly missed?: Missed | undefined
}

export interface Missed {
  /** Oldest first. */
  readonly events: readonly TreeEvent[]
  /** Which of them are for this client. */
  readonly isWanted: (event: TreeEvent) => boolean
}

export type EventStream = ReturnType<typeof createEventStream>

/** A client that was cut off gets this long to read what has been sent to it. */
const lingerMs = 5000
/** The search for missed events blocks this process no longer than this at a time. */
const sliceMs = 5
/** What follows an event sooner than this is sent together: for each a write would cost more than all else that is done for it. */
const gatherMs = 50
/** After a break clients come back no sooner, in milliseconds. */
const retryMs = 1000

export function createEventStream({ output, maxBytes, makeGap, onEnd }: EventStreamOptions) {
  /** Not yet given to the connection. All streams share the bytes, so that many slow ones cost little more than one. */
  let waiting: Frame[] = []
  /** Sent before `waiting`, as fast as the client reads: the server keeps these events for all streams anyway. */
  let missed: Missed = { events: [], isWanted: () => true }
  let fed = 0
  let turn: NodeJS.Immediate | undefined
  let gathering: NodeJS.Timeout | undefined
  let waitingBytes = 0
  /** Of the last event given to the connection. */
  let lastId = ''
  let isEnded = false
  output.on('drain', flush)
  output.once('close', end)
  // A close follows every failure of the connection.
  output.on('error', () => {})

  function end(): void {
    if (isEnded) return
    isEnded = true
    clearImmediate(turn)
    clearTimeout(gathering)
    missed = { ...missed, events: [] }
    waiting = []
    onEnd()
  }

  function put(frame: Frame): void {
    output.write(frame.bytes)
    lastId = frame.id ?? lastId
    gathering ??= setTimeout(() => {
      gathering = undefined
      flush()
    }, gatherMs)
  }

  /** @returns false if some of it is still to be sent */
  function feed(): boolean {
    const end = performance.now() + sliceMs
    while (fed < missed.events.length) {
      if (output.writableNeedDrain) return false
      if (performance.now() > end) {
        turn ??= setImmediate(() => {
          turn = undefined
          flush()
        })
        return false
      }
      const event = missed.events[fed] as TreeEvent
      fed += 1
      if (missed.isWanted(event)) put(frameOf(event))
    }
    missed = { ...missed, events: [] }
    return true
  }

  function flush(): void {
    if (isEnded || !feed()) return
    let sent = 0
    for (const frame of waiting) {
      if (output.writableNeedDrain) break
      put(frame)
      waitingBytes -= frame.bytes.length
      sent += 1
    }
    waiting.splice(0, sent)
  }

  function isIdle(): boolean {
    return waiting.length === 0 && missed.events.length === 0
  }

  function write(frame: Frame): void {
    if (isEnded) return
    if (isIdle() && gathering === undefined && !output.writableNeedDrain) return put(frame)
    waiting.push(frame)
    waitingBytes += frame.bytes.length
    if (waitingBytes <= maxBytes) return
    // Not unread yet, but gathered.
    flush()
    if (waitingBytes > maxBytes) cut()
  }

  function cut(): void {
    end()
    put(frameOf(makeGap(lastId)))
    close()
  }

  function close(): void {
    flush()
    end()
    output.end()
    setTimeout(() => output.destroy(), lingerMs).unref()
  }

  return {
    open({ ready, position, missed: toFeed }: Opening): void {
      lastId = position
      // A client that comes back from here before it has got all missed events continues where it was.
      const id = toFeed === undefined ? position : undefined
      put({ bytes: Buffer.from(`retry: ${retryMs}\n${textOf(ready, id)}`), id })
      if (toFeed === undefined) return
      missed = toFeed
      flush()
    },
    send: (event: TreeEvent): void => write(frameOf(event)),
    /** @param position the last event that was checked for this stream, so that unwanted events cause a client that comes back no gap */
    beat(position: string): void {
      if (isIdle()) write({ bytes: Buffer.from(`: alive\nid: ${position}\n\n`), id: position })
    },
    close
  }
}

interface Frame {
  readonly bytes: Buffer
  readonly id: string | undefined
}

/** Written once, however many streams get it. */
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
