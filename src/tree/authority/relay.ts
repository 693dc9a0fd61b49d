// A relay's side: asks the authority of the tree to carry out what this process's clients ask for.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { cancellationOf, OperationError, serverStopping } from '../../errors.ts'
import type { OperationResult, OwnParts } from '../../engine/call/context.ts'
import type { EventListener } from '../../engine/events/tree-event.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import { Unproven } from '../coordinator/local-link.ts'
import type { Connect } from '../coordinator/meeting-point.ts'
import type { Mark, VolumeView } from '../coordinator/volume-view.ts'
import { authorityLost } from './authority-lost.ts'
import { openChannel } from './channel.ts'
import { watchSilence } from './watch-silence.ts'
import type { EngineLink, Question } from '../../engine/call/engine-link.ts'
import type { AuthorityMessage, EngineSettings, Hello, RelayMessage, RelayRequest, StateOnDisk } from './messages.ts'

export interface Relay extends EngineLink {
  /** Of the authority. */
  readonly pid: number
  readonly settings: EngineSettings
  readonly state: StateOnDisk | undefined
  /** Real paths, on the host of the authority. */
  readonly roots: readonly string[]
  /** Resolves when the authority has gone. Calls that it had not answered have failed with AUTHORITY_LOST by then. */
  readonly closed: Promise<void>
  /** True once the authority carries out nothing more: it has announced its leaving, or has gone. */
  readonly isLeaving: () => boolean
  /** Asks the authority for a sign of life. True once one comes, false once the authority has gone. */
  readonly isAnswering: () => Promise<boolean>
  /** Sends the authority the current facts of this process. */
  readonly introduce: (hello: Hello) => void
  /** This process stops: requests that the authority has not begun must not be carried out any more. */
  readonly withdraw: () => void
  readonly close: () => void
  /** Goes to another authority. This one is not told: the state that the other one reads is to stay as it is. */
  readonly abandon: () => void
}

export interface ConnectOptions {
  readonly hello: Hello
  /** Undefined if one host serves the tree. */
  readonly view?: VolumeView | undefined
  /** Ends the attempt. */
  readonly signal: AbortSignal
  /** In milliseconds. An authority that stays silent this long after a request is given up. */
  readonly silenceMs: () => number
  /** Called when the authority refuses a call since it cannot know whether it still is the authority. */
  readonly onDoubt?: () => void
}

interface Pending {
  readonly resolve: (result: never) => void
  readonly reject: (error: OperationError) => void
  readonly progress: OwnParts['progress']
  readonly onWait: OwnParts['onWait']
  /** The operation called, if any. */
  readonly operation: string | undefined
  /** True if its caller has named the change: a repeat makes it once. */
  readonly isNamed: boolean
}

interface AskOptions {
  readonly progress?: OwnParts['progress']
  readonly onWait?: OwnParts['onWait']
  /** Cancels what was asked. */
  readonly signal?: AbortSignal
}

type Request = RelayRequest extends infer Each ? (Each extends unknown ? Omit<Each, 'id'> : never) : never

/** The authority answers, and refuses. Its message is for the user who started this process. */
export class RefusedByAuthority extends Error {}

/**
 * Connects at the first of these places at which a process answers.
 * @throws RefusedByAuthority; Unproven; any other error means that no process listens there, or none any more
 */
export async function connectFirst([first, ...others]: readonly Connect[], options: ConnectOptions): Promise<Relay> {
  if (first === undefined) throw new Error('no process is known to listen')
  try {
    return await connectRelay(first, options)
  } catch (error) {
    const isAnswer = error instanceof RefusedByAuthority || error instanceof Unproven
    if (isAnswer || others.length === 0) throw error
    return connectFirst(others, options)
  }
}

/** @throws UnfitVolume if this host does not see at once what the authority changes */
async function connectRelay(connect: Connect, options: ConnectOptions): Promise<Relay> {
  const mark = await options.view?.lay()
  try {
    options.signal.throwIfAborted()
    return await connectMarked(connect, mark, options)
  } finally {
    mark?.remove()
  }
}

async function connectMarked(
  connect: Connect,
  mark: Mark | undefined,
  { hello, signal, silenceMs, onDoubt }: ConnectOptions
): Promise<Relay> {
  const socket = await connect(signal)
  const pending = new Map<number, Pending>()
  const { promise: closed, resolve: markClosed } = withResolvers<void>()
  const welcome = withResolvers<Extract<AuthorityMessage, { type: 'welcome' }>>()
  let lineage: string | undefined
  let onEvent: EventListener | undefined
  let lastId = 0
  let isLeaving = false
  let isClosed = false
  let isWithdrawn = false
  let heardAt = performance.now()
  let pong = withResolvers<boolean>()
  socket.on('error', welcome.reject)
  const channel = openChannel<RelayMessage>(socket, { onMessage: receive, onClose: onClosed })
  signal.addEventListener('abort', channel.destroy, { once: true })
  const watch = watchSilence({
    isAsked: () => pending.size > 0,
    heardAt: () => heardAt,
    silenceMs,
    ask: () => channel.send({ type: 'ping' }),
    giveUp: channel.destroy
  })
  channel.send({ ...hello, mark: mark?.name })

  function receive(message: AuthorityMessage): void {
    heardAt = performance.now()
    switch (message.type) {
      case 'welcome':
        lineage = message.lineage
        return welcome.resolve(message)
      case 'lineage':
        lineage = message.lineage
        return undefined
      case 'refused':
        return welcome.reject(new RefusedByAuthority(message.message))
      case 'leaving':
        isLeaving = true
        return channel.send({ type: 'left' })
      case 'progress':
        return pending.get(message.id)?.progress?.(message)
      case 'waited':
        return pending.get(message.id)?.onWait?.(message.ms, message.result)
      case 'result':
        // Of the type asked for: the authority speaks the same protocol.
        return settle(message.id)?.resolve(message.result as never)
      case 'error':
        if (message.error.details?.['no_authority'] === true) onDoubt?.()
        return settle(message.id)?.reject(OperationError.fromWire(message.error))
      case 'event':
        return onEvent?.(message.event)
      case 'pong':
        pong.resolve(true)
        pong = withResolvers<boolean>()
        return undefined
      default:
        return message satisfies never
    }
  }

  function settle(id: number): Pending | undefined {
    const call = pending.get(id)
    pending.delete(id)
    return call
  }

  function onClosed(): void {
    isClosed = true
    clearInterval(watch)
    pong.resolve(false)
    welcome.reject(new Error('the authority has gone'))
    // Even if this process stops: only the authority could have said that nothing was done.
    for (const { reject, operation, isNamed } of pending.values())
      reject(authorityLost(operation, isNamed && lineage !== undefined))
    pending.clear()
    markClosed()
  }

  /** @throws OperationError OVERLOADED if the authority cannot be asked any more: nothing was done, and the next authority can be asked */
  async function send<Result>(request: Request, { progress, onWait, signal }: AskOptions = {}): Promise<Result> {
    // If this process was suspended, the authority's `leaving` may already be in the socket: it is read first.
    await nextTurn()
    if (isLeaving || isClosed) throw serverStopping()
    if (signal?.aborted === true) throw cancellationOf(signal)
    lastId += 1
    const id = lastId
    const body = request.type === 'call' ? request.input : undefined
    // Nothing is sent if the call was cancelled, or the authority has announced its leaving, while the message was made.
    const isWanted = () => signal?.aborted !== true && !isLeaving && !isClosed && !isWithdrawn
    const sending = channel.sendBody({ ...request, id }, body, isWanted)
    if (sending !== undefined && !(await sending)) throw whyUnsent(signal)
    const onAbort = () => signal !== undefined && cancel(id, cancellationOf(signal))
    signal?.addEventListener('abort', onAbort, { once: true })
    const operation = request.type === 'call' ? request.name : undefined
    const isNamed = isNamedCall(request)
    const answer = new Promise<Result>((resolve, reject) =>
      pending.set(id, { resolve, reject, progress, onWait, operation, isNamed })
    )
    return answer.finally(() => signal?.removeEventListener('abort', onAbort))
  }

  function cancel(id: number, reason: OperationError): void {
    channel.send({ type: 'cancel', id, reason: reason.toWire() })
  }

  const call: EngineLink['call'] = ({ name }, input, { caller, signal, progress, onWait }) => {
    const wanted = { progress: progress !== undefined, waits: onWait !== undefined }
    return send<OperationResult>({ type: 'call', name, input, caller, ...wanted }, { progress, onWait, signal })
  }

  try {
    const { pid, settings, state, roots, mark: said } = await welcome.promise
    if (said !== undefined) await mark?.assertSeen(said)
    if (isClosed) throw new Error('the authority has gone')
    return {
      pid,
      settings,
      state,
      roots,
      closed,
      isLeaving: () => isLeaving || isClosed,
      lineage: () => lineage,
      async isAnswering() {
        if (isClosed) return false
        channel.send({ type: 'ping' })
        return pong.promise
      },
      introduce: channel.send,
      withdraw() {
        isWithdrawn = true
        for (const id of pending.keys()) cancel(id, serverStopping())
      },
      close() {
        channel.send({ type: 'gone' })
        channel.close()
      },
      abandon: channel.destroy,
      call,
      disconnect: (connection) => channel.send({ type: 'disconnect', connection }),
      endPlace: (place) => channel.send({ type: 'end_place', place }),
      ask: (question) => send(question as Question),
      async feed(listener) {
        // The first event may come right behind the answer.
        onEvent = listener
        await send({ type: 'follow' })
        return () => {
          if (onEvent !== listener) return
          onEvent = undefined
          channel.send({ type: 'unfollow' })
        }
      }
    }
  } catch (error) {
    channel.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', channel.destroy)
  }
}

function whyUnsent(signal: AbortSignal | undefined): OperationError {
  return signal?.aborted === true ? cancellationOf(signal) : serverStopping()
}

function isNamedCall(request: Request): boolean {
  if (request.type !== 'call') return false
  const { input, caller } = request
  return caller.requestId !== undefined || (typeof input === 'object' && input !== null && 'request_id' in input)
}
