// The authority's side: carries out on the engine what relays ask for, as if their clients were its own.
import { setTimeout as delay } from 'node:timers/promises'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { OperationError, toOperationError } from '../errors.ts'
import type { Member } from '../daemon/state-file.ts'
import { withResolvers } from '../with-resolvers.ts'
import { openChannel, type Channel } from './channel.ts'
import type { EngineLink } from './engine-link.ts'
import {
  protocol,
  type AuthorityMessage,
  type EngineSettings,
  type Hello,
  type RelayMessage,
  type RelayRequest
} from './messages.ts'

interface AuthorityServerOptions {
  readonly engine: EngineLink
  /** Real paths. */
  readonly roots: readonly string[]
  readonly settings: () => EngineSettings
  /** Told when a relay has come or gone. */
  readonly onMembersChange: () => void
}

interface Relay {
  readonly channel: Channel<AuthorityMessage>
  member: Member | undefined
  readonly running: Map<number, AbortController>
  /** Sessions and connections of its clients: they end with it. */
  readonly connections: Set<string>
  /** Resolves when it asks nothing more. */
  readonly left: Promise<void>
  readonly markLeft: () => void
}

export type AuthorityServer = ReturnType<typeof createAuthorityServer>

export function createAuthorityServer({ engine, roots, settings, onMembersChange }: AuthorityServerOptions) {
  const relays = new Set<Relay>()
  let server: Server | undefined

  function accept(socket: Socket): void {
    const { promise: left, resolve: markLeft } = withResolvers<void>()
    const channel = openChannel<AuthorityMessage>(socket, {
      onMessage: (message: RelayMessage) => receive(relay, message),
      onClose: () => forget(relay)
    })
    const relay: Relay = { channel, member: undefined, running: new Map(), connections: new Set(), left, markLeft }
    relays.add(relay)
  }

  function receive(relay: Relay, message: RelayMessage): void {
    switch (message.type) {
      case 'hello':
        return welcome(relay, message)
      case 'cancel':
        return relay.running.get(message.id)?.abort(new OperationError('CANCELLED', message.message))
      case 'left':
        return relay.markLeft()
      case 'disconnect':
        relay.connections.delete(message.connection)
        return engine.disconnect(message.connection)
      case 'call':
      case 'holds_leases':
      case 'list_locks':
        return void answer(relay, message)
      default:
        return message satisfies never
    }
  }

  function welcome(relay: Relay, hello: Hello): void {
    const refusal = refuse(hello, roots)
    if (refusal !== undefined) return relay.channel.send({ type: 'refused', message: refusal })
    relay.member = hello.member
    relay.channel.send({ type: 'welcome', pid: process.pid, settings: settings() })
    return onMembersChange()
  }

  async function answer({ channel, running, connections }: Relay, request: RelayRequest): Promise<void> {
    const { id } = request
    const controller = new AbortController()
    running.set(id, controller)
    try {
      if (request.type === 'call' && request.caller.connection !== undefined) connections.add(request.caller.connection)
      const onProgress = (message: string) => channel.send({ type: 'progress', id, message })
      channel.send({ type: 'result', id, result: await carryOut(engine, request, controller.signal, onProgress) })
    } catch (error) {
      channel.send({ type: 'error', id, error: toOperationError(error).toWire() })
    } finally {
      running.delete(id)
    }
  }

  function forget(relay: Relay): void {
    relays.delete(relay)
    relay.markLeft()
    for (const controller of relay.running.values())
      controller.abort(new OperationError('CANCELLED', 'The client has gone; nothing was changed.'))
    for (const connection of relay.connections) engine.disconnect(connection)
    if (relay.member !== undefined) onMembersChange()
  }

  return {
    /** On the first of these paths where that works. Nothing stands at any of them. */
    async listen([path, ...others]: readonly string[]): Promise<void> {
      const next = createServer(accept)
      server = next
      try {
        next.listen(path)
        await once(next, 'listening')
      } catch (error) {
        if (others.length === 0) throw error
        await this.listen(others)
      }
    },
    /** Removes the socket, too. Relays that are connected stay so. */
    stopListening(): void {
      server?.close()
    },
    /** The processes that relay to this one, in the order in which they came. */
    members: (): Member[] => [...relays].flatMap(({ member }) => member ?? []),
    /** Tells the relays. Resolves when none of them asks anything more, or after this time. */
    async announceLeaving(limitMs: number): Promise<void> {
      for (const { channel } of relays) channel.send({ type: 'leaving' })
      const left = [...relays].map((relay) => relay.left)
      await Promise.race([Promise.all(left), delay(limitMs, undefined, { ref: false })])
    },
    close(): void {
      for (const { channel } of relays) channel.close()
    }
  }
}

function carryOut(
  engine: EngineLink,
  request: RelayRequest,
  signal: AbortSignal,
  onProgress: (message: string) => void
): Promise<object | boolean> {
  switch (request.type) {
    case 'call': {
      const { name, input, caller } = request
      return engine.call(name, input, { caller, signal, progress: request.progress ? onProgress : undefined })
    }
    case 'holds_leases':
      return engine.holdsLeases(request.connection)
    case 'list_locks':
      return engine.listLocks(request.limit)
    default:
      return request satisfies never
  }
}

function refuse(hello: Hello, roots: readonly string[]): string | undefined {
  if (hello.protocol !== protocol)
    return `process ${process.pid}, which serves this tree, is of another version: stop it, then try again`
  if (hello.roots.join('\0') === roots.join('\0')) return undefined
  return `process ${process.pid} serves this tree with the roots ${roots.join(', ')}, not ${hello.roots.join(', ')}: start both with the same --dir, or stop that one`
}
