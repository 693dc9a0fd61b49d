// Whose engine this process uses: its own where it is the authority of the tree, that of another process otherwise. Nothing is owned before the first call.
import { setTimeout as delay } from 'node:timers/promises'
import type { AuthorityLock } from '../daemon/authority-lock.ts'
import { OperationError } from '../errors.ts'
import type { Address } from './address.ts'
import type { AuthorityServer } from './authority-server.ts'
import type { EngineLink } from './engine-link.ts'
import type { Hello } from './messages.ts'
import { authorityLost, connectFirst, RefusedByAuthority, type Relay } from './relay.ts'

export interface MembershipOptions {
  readonly lock: AuthorityLock
  /** Of this process. */
  readonly engine: EngineLink
  readonly server: AuthorityServer
  /** @throws Error that says what is in the way */
  readonly openAddress: () => Address
  readonly hello: () => Hello
  /** How long a call waits for an authority, in milliseconds. */
  readonly joinTimeoutMs: () => number
  readonly onAuthority: () => void
  readonly onRelay: (relay: Relay) => void
  /** Another process has taken the tree, since our folder was removed under us: what is held here is worth nothing. */
  readonly onDisplaced: () => void
}

export type Role = 'none' | 'authority' | 'relay'

/** Between two looks at a tree whose authority is just starting or ending. */
const retryMs = 15
/** A process that holds the lock looks this often whether it still is in its place. */
const watchMs = 1000
/** A relay that lives has heard by then that the authority leaves. */
const leaveMs = 250

export type Membership = ReturnType<typeof createMembership>

export function createMembership(options: MembershipOptions) {
  const { lock, engine, server, openAddress, hello, joinTimeoutMs, onAuthority, onRelay, onDisplaced } = options
  const left = new AbortController()
  let role: Role = 'none'
  let isDisplaced = false
  let relay: Relay | undefined
  let joining: Promise<EngineLink> | undefined
  let address: Address | undefined
  let watch: NodeJS.Timeout | undefined

  /** The engine to call. @param signal ends the wait for it. @throws OperationError where there is none */
  async function link(signal?: AbortSignal): Promise<EngineLink> {
    if (isDisplaced) throw authorityLost()
    if (role === 'authority') {
      await keepPlace()
      return engine
    }
    if (role === 'relay' && relay?.isLeaving() === false) return relay
    joining ??= join().finally(() => (joining = undefined))
    return withinTime(joining, signal)
  }

  async function join(): Promise<EngineLink> {
    // It still answers what it was asked; its lock is free only then.
    await relay?.closed
    for (;;) {
      if (left.signal.aborted) throw stopped()
      if (lock.tryAcquire()) return becomeAuthority()
      const found = await tryRelay()
      if (found !== undefined) return found
      await delay(retryMs)
    }
  }

  async function becomeAuthority(): Promise<EngineLink> {
    try {
      await listen()
    } catch (error) {
      lock.release()
      throw error
    }
    role = 'authority'
    watch = setInterval(() => void keepPlace().catch(() => {}), watchMs)
    watch.unref()
    onAuthority()
    return engine
  }

  async function listen(): Promise<void> {
    server.stopListening()
    address?.close()
    address = openAddress()
    address.clear()
    await server.listen(address.paths)
  }

  /** Undefined where nobody answers: the authority is just starting or ending. */
  async function tryRelay(): Promise<Relay | undefined> {
    const target = openAddress()
    try {
      const connected = await connectFirst(target.paths, hello(), left.signal)
      relay = connected
      role = 'relay'
      void connected.closed.then(() => connected === relay && rejoin())
      onRelay(connected)
      return connected
    } catch (error) {
      if (error instanceof RefusedByAuthority) throw error
      return undefined
    } finally {
      target.close()
    }
  }

  /** The tree has lost its authority: some process must take over, whether or not anybody asks for something. */
  function rejoin(): void {
    role = 'none'
    relay = undefined
    if (!left.signal.aborted) link().catch(() => {})
  }

  /** Somebody may have removed our folder, and with it the lock that keeps others away. */
  async function keepPlace(): Promise<void> {
    if (role !== 'authority' || lock.isInPlace()) return
    // No await between the look and the lock: nobody has called meanwhile.
    if (lock.tryAcquire()) {
      await listen()
      onAuthority()
      return
    }
    isDisplaced = true
    role = 'none'
    onDisplaced()
    throw authorityLost()
  }

  function withinTime(joined: Promise<EngineLink>, signal: AbortSignal | undefined): Promise<EngineLink> {
    const limit = AbortSignal.timeout(joinTimeoutMs())
    const ends = AbortSignal.any(signal === undefined ? [limit] : [limit, signal])
    return new Promise((resolve, reject) => {
      const onEnd = () => reject(limit.aborted ? noAuthority() : cancelled(signal))
      if (ends.aborted) return onEnd()
      ends.addEventListener('abort', onEnd, { once: true })
      joined.then(resolve, reject).finally(() => ends.removeEventListener('abort', onEnd))
    })
  }

  return {
    link,
    role: (): Role => role,
    /** Process id of the authority; null while it is not known. */
    authorityPid: (): number | null => (role === 'authority' ? process.pid : (relay?.pid ?? null)),
    /** Says anew who this process is. */
    introduce(): void {
      relay?.introduce(hello())
    },
    /** Before the engine stops: relays keep for the next authority what they are asked from now on. */
    async announceLeaving(): Promise<void> {
      if (role !== 'authority') return
      server.stopListening()
      await server.announceLeaving(leaveMs)
    },
    /** Leaves the tree to the others. Nobody waits for this process any more. */
    leave(): void {
      left.abort()
      clearInterval(watch)
      relay?.close()
      server.stopListening()
      server.close()
      if (role === 'authority') lock.release()
      address?.close()
      role = 'none'
    }
  }
}

function noAuthority(): OperationError {
  return new OperationError(
    'OVERLOADED',
    'The process that serves this tree does not answer. Nothing was done. Try again; if that goes on, stop that process (async-crud-mcp discover names it).',
    { details: { retry_after_seconds: 1 } }
  )
}

function stopped(): OperationError {
  return new OperationError('OVERLOADED', 'The server is stopping. Try again when it runs again.', {
    details: { retry_after_seconds: 1 }
  })
}

function cancelled(signal: AbortSignal | undefined): OperationError {
  const reason: unknown = signal?.reason
  return reason instanceof OperationError
    ? reason
    : new OperationError('CANCELLED', 'The call was cancelled; nothing was changed.')
}
