// subscriptions/listen of the 2026-07-28 revision over HTTP: the SDK serves the stream, this notifies it of the files that the client named.
import type { McpHttpHandler, McpHandlerRequestOptions, ServerEventBus } from '@modelcontextprotocol/server'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ResourceUpdates } from './resource-updates.ts'
import { toErrorAnswer } from './resources.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'

interface ListenOptions {
  readonly updates: ResourceUpdates
  readonly maxResources: number
}

type BusListener = Parameters<ServerEventBus['subscribe']>[0]

/** A request to listen, from its arrival until the SDK has opened its stream. */
interface Opening {
  readonly subscriptions: Subscriptions
  listener: BusListener | undefined
}

/** The SDK does not say for which stream it asks for events: the context of the request does. */
export function createListening({ updates, maxResources }: ListenOptions) {
  const openings = new AsyncLocalStorage<Opening>()
  let underWay = 0

  const bus: ServerEventBus = {
    // Events come from the subscriptions of each stream.
    publish: () => {},
    subscribe(listener) {
      const opening = openings.getStore()
      if (opening === undefined) return () => {}
      opening.listener = listener
      return opening.subscriptions.close
    }
  }

  return {
    bus,
    /** @param isBehind true while the client has not read what the stream has sent */
    async serve(
      handler: McpHttpHandler,
      request: Request,
      requestOptions: McpHandlerRequestOptions,
      isBehind: () => boolean
    ): Promise<Response> {
      const opening: Opening = {
        subscriptions: createSubscriptions({
          updates,
          maxResources,
          isBehind,
          send: (uri) => opening.listener?.({ kind: 'resource_updated', uri })
        }),
        listener: undefined
      }
      try {
        await opening.subscriptions.subscribe(urisOf(requestOptions.parsedBody))
      } catch (error) {
        return Response.json(toErrorAnswer(requestOptions.parsedBody, error))
      }
      underWay += 1
      try {
        return await openings.run(opening, () => handler.fetch(request, requestOptions))
      } finally {
        underWay -= 1
        // While it is enabled, older versions of Node make every promise of the process slower.
        if (underWay === 0) openings.disable()
        // The SDK has refused it.
        if (opening.listener === undefined) opening.subscriptions.close()
      }
    }
  }
}

interface Listen {
  readonly id: string | number
  readonly method: 'subscriptions/listen'
  readonly params?: { readonly notifications?: { readonly resourceSubscriptions?: unknown } }
}

export function isListen(message: unknown): message is Listen {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === listenMethod
}

const listenMethod = 'subscriptions/listen'

/** The files that a client subscribes to; the SDK refuses anything but a list of addresses. */
export function urisOf(message: unknown): string[] {
  const uris = isListen(message) ? message.params?.notifications?.resourceSubscriptions : undefined
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []
}
