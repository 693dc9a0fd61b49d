// The authority's side: carries out on the engine what relays ask for, as if their clients were its own.
import { isKnownTree } from '../state/known-tree.ts'
import type { Server, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Member } from '../state/state-file.ts'
import type { ByteBudget } from '../../engine/budget/byte-budget.ts'
import type { CalledOperation, OwnParts } from '../../engine/call/context.ts'
import { atMost } from '../../support/at-most.ts'
import type { Progress } from '../../support/progress.ts'
import { OperationError, toOperationError, unknownOperation } from '../../errors.ts'
import { version } from '../../support/installation.ts'
import { LazyAbort } from '../../support/lazy-signal.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import type { VolumeView } from '../coordinator/volume-view.ts'
import type { MeetingPoint } from '../coordinator/meeting-point.ts'
import { openChannel, type Channel } from './channel.ts'
import { createFeed } from './feed.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'
import {
  protocol,
  type AuthorityMessage,
  type EngineSettings,
  type Hello,
  type RelayMessage,
  type RelayRequest,
  type StateOnDisk
} from './messages.ts'

interface AuthorityServerOptions {
  readonly engine: EngineLink
  readonly findOperation: (name: string) => CalledOperation | undefined
  /** What processes of one tree have in common. */
  readonly names: () => readonly string[]
  /** Real paths. */
  readonly roots: readonly string[]
  /** Other paths of the first root. */
  readonly knownAs: readonly string[]
  readonly settings: () => EngineSettings
  readonly state: () => StateOnDisk | undefined
  readonly receipts: Pick<Receipts, 'lineage' | 'onLineage'>
  /** Undefined if one host serves the tree. */
  readonly view?: Pick<VolumeView, 'replace'> | undefined
  /** Of the bytes of requests in progress, those of relays included. */
  readonly budget: ByteBudget
  /** Called when the channel of a relay has ended that did not say that it leaves: it has died, or comes back. */
  readonly onRelayLost: (relay: Member, connections: readonly string[]) => void
  /** Called when a relay has joined or left. */
  readonly onMembersChange: () => void
  /** Called with the error of a connection that could not be accepted. */
  readonly onError: (error: Error) => void
}

/** A relay, as seen from here. */
interface Peer {
  readonly channel: Channel<AuthorityMessage>
  /** Undefined until the relay has been welcomed. */
  member: Member | undefined
  readonly running: Map<number, LazyAbort>
  /** True once it has said that it leaves the tree. */
  hasLeft: boolean
  /** Sessions and connections of the relay's clients: they end with it. */
  readonly connections: Set<string>
  /** Undefined while the relay gets no events. */
  endFeed: (() => void) | undefined
  /** Resolves when the relay asks nothing more. */
  readonly silent: Promise<void>
  readonly markSilent: () => void
}

export type AuthorityServer = ReturnType<typeof createAuthorityServer>

export function createAuthorityServer(options: AuthorityServerOptions) {
  const {
    engine,
    findOperation,
    names,
    knownAs,
    roots,
    settings,
    state,
    receipts,
    view,
    budget,
    onRelayLost,
    onMembersChange,
    onError
  } = options
  const peers = new Set<Peer>()
  let server: Server | undefined
  /** The place of `server`, or of the one that is being opened. */
  let wanted: MeetingPoint | undefined
  let isLeaving = false
  receipts.onLineage(() => {
    for (const { channel } of peers) channel.send({ type: 'lineage', lineage: receipts.lineage })
  })

  function accept(socket: Socket): void {
    // It came too late to be told so: it looks again for a process that serves the tree.
    if (isLeaving) return void socket.destroy()
    budget.work.watch(socket, false)
    const { promise: silent, resolve: markSilent } = withResolvers<void>()
    const channel = openChannel<AuthorityMessage>(socket, {
      onMessage: (message: RelayMessage, bytes) => receive(peer, message, bytes),
      onClose: () => forget(peer)
    })
    const peer: Peer = {
      channel,
      member: undefined,
      running: new Map(),
      hasLeft: false,
      connections: new Set(),
      endFeed: undefined,
      silent,
      markSilent
    }
    peers.add(peer)
  }

  function receive(peer: Peer, message: RelayMessage, bytes: number): void {
    switch (message.type) {
      case 'hello':
        return void welcome(peer, message)
      case 'cancel':
        return peer.running.get(message.id)?.abort(OperationError.fromWire(message.reason))
      case 'ping':
        return peer.channel.send({ type: 'pong' })
      case 'left':
        return peer.markSilent()
      case 'gone':
        peer.hasLeft = true
        return undefined
      case 'disconnect':
        peer.connections.delete(message.connection)
        return engine.disconnect(message.connection)
      case 'end_place':
        return engine.endPlace(message.place)
      case 'unfollow':
        return endFeed(peer)
      case 'call':
      case 'holds_leases':
      case 'list_locks':
      case 'list_activity':
      case 'list_files':
      case 'list_changes':
      case 'follow':
        return void answer(peer, message, bytes)
      default:
        return message satisfies never
    }
  }

  async function welcome(peer: Peer, hello: Hello): Promise<void> {
    const refusal = refuse(hello, names(), knownAs)
    if (refusal !== undefined) return peer.channel.send({ type: 'refused', message: refusal })
    const mark = hello.mark === undefined ? undefined : await view?.replace(hello.mark)
    if (!peers.has(peer)) return undefined
    peer.member = hello.member
    for (const connection of hello.connections) peer.connections.add(connection)
    const { lineage } = receipts
    peer.channel.send({ type: 'welcome', pid: process.pid, settings: settings(), state: state(), roots, lineage, mark })
    return onMembersChange()
  }

  async function answer(peer: Peer, request: RelayRequest, bytes: number): Promise<void> {
    const { channel, running, connections } = peer
    const { id } = request
    const controller = new LazyAbort()
    running.set(id, controller)
    let release = () => {}
    try {
      release = budget.take(bytes)
      // If this process was suspended, the end of the relay may be in the socket right behind the call: then no relay waits for the answer.
      await setImmediate()
      if (!peers.has(peer)) return
      if (request.type === 'call' && request.caller.connection !== undefined) connections.add(request.caller.connection)
      const reports = {
        progress: (progress: Progress) => channel.send({ type: 'progress', id, ...progress }),
        onWait: (ms: number, result: string) => channel.send({ type: 'waited', id, ms, result })
      }
      const result =
        request.type === 'follow'
          ? await beginFeed(peer)
          : await carryOut({ engine, findOperation }, request, controller.signal, reports)
      await channel.sendBody({ type: 'result', id, result }, result)
    } catch (error) {
      channel.send({ type: 'error', id, error: toOperationError(error).toWire() })
    } finally {
      running.delete(id)
      release()
    }
  }

  async function beginFeed(peer: Peer): Promise<boolean> {
    const end = await engine.feed(createFeed(peer.channel))
    endFeed(peer)
    if (peers.has(peer)) peer.endFeed = end
    else end()
    return true
  }

  function endFeed(peer: Peer): void {
    peer.endFeed?.()
    peer.endFeed = undefined
  }

  function forget(peer: Peer): void {
    peers.delete(peer)
    endFeed(peer)
    peer.markSilent()
    for (const controller of peer.running.values())
      controller.abort(new OperationError('CANCELLED', 'The client has gone; nothing was changed.'))
    const { member, hasLeft, connections } = peer
    if (hasLeft) for (const connection of connections) engine.disconnect(connection)
    if (member === undefined) return
    if (!hasLeft) onRelayLost(member, [...connections])
    onMembersChange()
  }

  return {
    /** @throws Error that says what is in the way */
    async listen(point: MeetingPoint): Promise<void> {
      wanted = point
      const next = await point.serve(accept)
      next.on('error', onError)
      if (wanted === point) server = next
      else next.close()
    },
    /** Relays that are connected stay connected. */
    stopListening(): void {
      wanted = undefined
      server?.close()
      server = undefined
    },
    /** The processes that relay to this one, in the order in which they came. */
    members: (): Member[] => [...peers].flatMap(({ member }) => member ?? []),
    /** True if a relay has named it, as one of its own that is alive. */
    hasConnection: (connection: string): boolean => [...peers].some(({ connections }) => connections.has(connection)),
    /** Notifies the relays. Resolves when none of them asks anything more, or after this time. */
    async announceLeaving(limitMs: number): Promise<void> {
      isLeaving = true
      for (const { channel } of peers) channel.send({ type: 'leaving' })
      const silent = [...peers].map((peer) => peer.silent)
      await atMost(limitMs, Promise.all(silent))
      // If this process was suspended meanwhile, requests of that time are still in the sockets. They are read, and so answered.
      await setImmediate()
      await setImmediate()
    },
    close(): void {
      for (const { channel } of peers) channel.close()
    }
  }
}

function carryOut(
  { engine, findOperation }: Pick<AuthorityServerOptions, 'engine' | 'findOperation'>,
  request: Exclude<RelayRequest, { type: 'follow' }>,
  signal: AbortSignal,
  reports: Required<Pick<OwnParts, 'progress' | 'onWait'>>
): Promise<object | boolean> {
  if (request.type !== 'call') return engine.ask(request)
  const { name, input, caller } = request
  const progress = request.progress ? reports.progress : undefined
  const onWait = request.waits ? reports.onWait : undefined
  const operation = findOperation(name)
  if (operation === undefined) throw unknownOperation(name)
  return engine.call(operation, input, { caller, signal, progress, onWait })
}

function refuse(hello: Hello, roots: readonly string[], knownAs: readonly string[]): string | undefined {
  if (hello.protocol !== protocol) return refuseVersion(hello.protocol)
  if (isKnownTree(roots, hello.roots, knownAs, hello.known_as)) return undefined
  return `process ${process.pid} serves this tree with the roots ${roots.join(', ')}, not ${hello.roots.join(', ')}: start both with the same --dir, or stop that one`
}

/** @param spoken by the relay */
function refuseVersion(spoken: number): string {
  const stop = `(async-crud-mcp daemon stop, or kill ${process.pid}) and try again`
  if (spoken < protocol)
    return `this process is older than process ${process.pid}, which serves this tree with version ${version}: update this one and start it again, or stop that one ${stop}`
  return `process ${process.pid}, which serves this tree with version ${version}, is older than this one: update it and start it again, or stop it ${stop}`
}
