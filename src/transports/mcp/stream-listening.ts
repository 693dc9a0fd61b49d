// subscriptions/listen on a stream with one client: the files that its requests to listen have named.
import type { RequestId } from '@modelcontextprotocol/server'
import { urisOf } from './http-listen.ts'
import { toProtocolError } from './resources.ts'
import { createSubscriptions, type SubscriptionsOptions } from './subscriptions.ts'

export function createStreamListening(options: SubscriptionsOptions) {
  const subscriptions = createSubscriptions(options)
  const listening = new Map<RequestId, readonly string[]>()

  function end(id: RequestId): void {
    const uris = listening.get(id)
    if (uris === undefined) return
    listening.delete(id)
    const others = new Set([...listening.values()].flat())
    for (const uri of uris) if (!others.has(uri)) subscriptions.remove(uri)
  }

  return {
    /** @returns the answer to a refused request */
    async begin(id: RequestId, message: unknown): Promise<object | undefined> {
      const uris = urisOf(message)
      // Recorded first: it may be cancelled meanwhile.
      listening.set(id, uris)
      try {
        await subscriptions.subscribe(uris, () => listening.get(id) === uris)
        return undefined
      } catch (error) {
        listening.delete(id)
        const { code, message: text, data } = toProtocolError(error)
        return { jsonrpc: '2.0', id, error: { code, message: text, data } }
      }
    },
    /** False if it was cancelled before it could begin. */
    has: (id: RequestId): boolean => listening.has(id),
    end,
    close: subscriptions.close
  }
}
