// GET /events, read by fetch: EventSource can send no token. Comes back by itself, from the last event it got.
import { ask, noteServerTime, ServerError } from './server.ts'
import type { TreeEvent } from './model.ts'

export type Connection = 'connecting' | 'live' | 'lost' | 'refused' | 'full'

export interface StreamOptions {
  readonly onEvents: (events: readonly TreeEvent[]) => void
  readonly onConnection: (connection: Connection, message?: string) => void
}

const firstDelayMs = 500
const longestDelayMs = 8000
/** The server says that it lives every events.heartbeat_seconds, 15 by default; a stream that is silent for longer is broken. */
const silenceMs = 60_000

/** @returns ends it */
export function follow({ onEvents, onConnection }: StreamOptions): () => void {
  const end = new AbortController()
  let lastId = ''
  let delayMs = firstDelayMs

  async function run(): Promise<void> {
    onConnection('connecting')
    while (!end.signal.aborted) {
      try {
        await readOnce()
        onConnection('lost')
      } catch (error) {
        if (end.signal.aborted) return
        if (error instanceof ServerError && error.status === 401) return onConnection('refused', error.message)
        if (error instanceof ServerError && error.status === 503) onConnection('full', error.message)
        else onConnection('lost')
      }
      await wait(delayMs, end.signal)
      delayMs = Math.min(delayMs * 2, longestDelayMs)
    }
  }

  async function readOnce(): Promise<void> {
    const attempt = new AbortController()
    const stop = () => attempt.abort()
    end.signal.addEventListener('abort', stop, { once: true })
    let silence = setTimeout(stop, silenceMs)
    try {
      const headers = lastId === '' ? {} : { 'last-event-id': lastId }
      const { body } = await ask('/events', { headers, signal: attempt.signal })
      if (body === null) throw new Error('no body')
      const reader = body.pipeThrough(new TextDecoderStream()).getReader()
      const parse = createParser((id) => (lastId = id))
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        clearTimeout(silence)
        silence = setTimeout(stop, silenceMs)
        const events = parse(chunk.value)
        if (events.length === 0) continue
        if (events[0]?.type === 'ready') {
          delayMs = firstDelayMs
          noteServerTime(events[0].at)
          onConnection('live')
        }
        onEvents(events)
      }
    } finally {
      clearTimeout(silence)
      end.signal.removeEventListener('abort', stop)
    }
  }

  void run()
  return () => end.abort()
}

/** Takes a stream piece by piece. @returns the events that the piece completes */
export function createParser(onId: (id: string) => void): (text: string) => TreeEvent[] {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    const events: TreeEvent[] = []
    for (const line of lines) {
      if (line.startsWith('id: ')) onId(line.slice(4))
      else if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)) as TreeEvent)
    }
    return events
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      removeEventListener('online', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    // A network that is back is tried at once.
    addEventListener('online', end)
  })
}
