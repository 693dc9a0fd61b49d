// Which engine this process uses: its own if it is the authority of the tree, else that of the authority. It owns nothing before the first call.
import { setTimeout as delay } from 'node:timers/promises'
import { TreeConflict } from '../state/authority-lock.ts'
import { Unproven } from '../coordinator/local-link.ts'
import { ElectedMeanwhile, type Coordinator } from '../coordinator/coordinator.ts'
import { serverStopping } from '../../errors.ts'
import { createAuthorityHold, looks, retryMs } from './authority-hold.ts'
import type { AuthorityServer } from './authority-server.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'
import { atMost } from '../../support/at-most.ts'
import type { Hello } from './messages.ts'
import { atOwnMount } from './own-mount.ts'
import { authorityLost, notBegun } from './authority-lost.ts'
import { noAuthority, noAuthorityAt, withinTime } from './await-authority.ts'
import type { Relay } from './relay.ts'
import { seekAuthority } from './seek-authority.ts'

export interface MembershipOptions {
  readonly coordinator: Coordinator
  /** Of this process. */
  readonly engine: EngineLink
  readonly server: AuthorityServer
  /** Of the first root, its real path first. */
  readonly spellings: readonly [string, ...string[]]
  readonly hello: () => Hello
  /** How long a call waits for an authority that does not answer, in milliseconds. */
  readonly timeoutMs: () => number
  /**
   * Reads what earlier authorities have left, before the first call is carried out. Never fails.
   * @param isContinued false if no process has taken part in serving the tree until now
   */
  readonly openState: (isContinued: boolean) => Promise<void>
  readonly onAuthority: () => void
  readonly onRelay: (relay: Relay) => void
  /** Called each second while this process is the authority. */
  readonly onWatch: () => void
  /** Our folder has been removed, and could not be put back so far. */
  readonly onTrouble: (error: unknown) => void
  /** Another process took the tree after our folder was removed: the locks and leases held here are void. */
  readonly onDisplaced: () => void
}

export type Role = 'none' | 'authority' | 'relay'

/** The delay between two looks at a tree whose authority is starting or ending doubles up to this. */
const maxRetryMs = 200
/** How long an authority has to welcome a relay before the lock is looked at again; doubles each time: a busy machine takes longer. */
const welcomeMs = 1000
const maxWelcomeMs = 16_000
/** How often a process that holds the lock checks that the lock file is still in its place. */
const watchMs = 1000
/** By then a live relay has heard that the authority leaves, on a busy machine too. */
const leaveMs = 1000

export function createMembership(options: MembershipOptions) {
  const { coordinator, engine, server, spellings, hello, timeoutMs, openState } = options
  const { members } = coordinator
  const { onAuthority, onRelay, onWatch, onTrouble, onDisplaced } = options
  const ended = new AbortController()
  let role: Role = 'none'
  let relay: Relay | undefined
  let isLeavingForAnother = false
  /** Of the first root, for the authority that this process relayed to, if that is not the path here. */
  let theirPath: string | undefined
  let joining: Promise<EngineLink> | undefined
  /** Relays may call as soon as they find the address. */
  let opening: Promise<void> | undefined
  let watch: NodeJS.Timeout | undefined
  const hold = createAuthorityHold({
    coordinator,
    server,
    onRetaken() {
      members.join()
      onAuthority()
    },
    onDisplaced() {
      role = 'none'
      // This process takes no part any more. Its end says so, once.
      ended.abort()
      clearInterval(watch)
      onDisplaced()
    }
  })

  const seeking = {
    coordinator,
    hello,
    timeoutMs,
    ended: ended.signal,
    onDoubt: (address: string | undefined) => void leaveForAnother(address)
  }

  /** The engine to call, if no wait is needed; `link` says what is in the way. */
  function current(): EngineLink | undefined {
    if (role === 'authority' && isSurelyInPlace()) return engine
    return role === 'relay' && relay?.isLeaving() === false ? relay : undefined
  }

  /** The engine to call. @param signal ends the wait for it. @throws OperationError if there is none */
  async function link(signal?: AbortSignal): Promise<EngineLink> {
    try {
      await ensureTaken()
    } catch (error) {
      // Of a call that a relay has passed on this is not known: an earlier authority may have begun it.
      throw hold.isDisplaced() ? notBegun() : error
    }
    if (role === 'authority') return engine
    if (role === 'relay' && relay?.isLeaving() === false) return relay
    joining ??= join().finally(() => (joining = undefined))
    return withinTime(joining, {
      limitMs: timeoutMs(),
      onLimit: () => (theirPath === undefined ? noAuthority(coordinator) : noAuthorityAt(theirPath)),
      signal
    })
  }

  function isSurelyInPlace(): boolean {
    try {
      return coordinator.isInPlace()
    } catch {
      return false
    }
  }

  async function join(): Promise<EngineLink> {
    // It still answers what it was asked; its lock is free only after that.
    await relay?.closed
    let conflicts = 0
    let pause = retryMs
    let patience = welcomeMs
    while (!ended.signal.aborted) {
      try {
        if (theirPath === undefined && (await coordinator.campaign())) return await becomeAuthority()
        const found = await seekAuthority(patience, seeking)
        if (found !== undefined) return becomeRelay(found)
      } catch (error) {
        conflicts += 1
        const mayPass = [TreeConflict, Unproven, ElectedMeanwhile].some((kind) => error instanceof kind)
        if (!mayPass || conflicts === looks) throw error
      }
      await delay(pause)
      pause = Math.min(2 * pause, maxRetryMs)
      patience = Math.min(2 * patience, maxWelcomeMs)
    }
    throw serverStopping()
  }

  async function becomeAuthority(): Promise<EngineLink> {
    opening = takeOver().finally(() => (opening = undefined))
    await opening
    role = 'authority'
    watch = setInterval(() => {
      members.join()
      ensureHold()
        .then(() => (role === 'authority' ? hold.ensureAddress() : undefined))
        .then(onWatch, (error: unknown) => !ended.signal.aborted && onTrouble(error))
    }, watchMs)
    watch.unref()
    onAuthority()
    return engine
  }

  /** What earlier authorities have left is read before any call is carried out: a relay may find the address at its first moment. */
  async function takeOver(): Promise<void> {
    try {
      await hold.takeAddress()
      if (ended.signal.aborted) throw serverStopping()
      const isContinued = members.isMember() || !members.isAlone()
      members.join()
      await openState(isContinued)
    } catch (error) {
      if (!(error instanceof TreeConflict) && !ended.signal.aborted) onTrouble(error)
      hold.leaveAddress()
      await coordinator.resign()
      throw error
    }
  }

  function becomeRelay(direct: Relay): Relay {
    const connected = atOwnMount(direct, spellings)
    // What its authority has kept names files by paths that mean nothing here: it is for a process there to take over.
    theirPath = coordinator.isLeased || connected === direct ? undefined : direct.roots[0]
    members.join()
    onRelay(connected)
    relay = connected
    role = 'relay'
    void connected.closed.then(() => connected === relay && rejoin())
    return connected
  }

  /** An authority that etcd does not answer may have been followed by another one, or this process can follow it. */
  async function leaveForAnother(address: string | undefined): Promise<void> {
    if (isLeavingForAnother) return
    isLeavingForAnother = true
    const doubted = relay
    try {
      await coordinator.look()
      // Etcd answers here: if it does there again, the authority takes its place back, and need not end.
      await delay(watchMs, undefined, { ref: false })
      const isElected = relay === doubted && role === 'relay' && (await coordinator.campaign())
      const found = coordinator.facts()?.authority
      if (isElected || (found !== undefined && found !== address)) doubted?.abandon()
    } catch {
      // Etcd does not answer this process either: the refusal stands.
    } finally {
      isLeavingForAnother = false
    }
  }

  /** The tree has lost its authority: a process must take over, whether or not a client asks for something. */
  function rejoin(): void {
    role = 'none'
    relay = undefined
    if (!ended.signal.aborted) link().catch(onTrouble)
  }

  /** Before a call of a relay is carried out. */
  async function ensureHold(): Promise<void> {
    await opening
    await ensureTaken()
    // It had found the address of a process that could not take the tree over.
    if (role !== 'authority') throw authorityLost()
  }

  async function ensureTaken(): Promise<void> {
    hold.assertNotDisplaced()
    if (role === 'authority') await hold.ensure()
  }

  return {
    current,
    link,
    ensureHold,
    /** What keeps calls from an answer, found out within this time; undefined if nothing does. */
    async findObstacle(limitMs: number): Promise<string | undefined> {
      const found = role === 'relay' ? relay?.isAnswering() : role === 'none' ? joining : undefined
      if (found === undefined) return undefined
      // The calls that wait for this process to join report what keeps it from joining.
      const answering = found.then(Boolean, () => true)
      return (await atMost(limitMs, answering)) === true ? undefined : noAuthority(coordinator, relay?.pid).message
    },
    /** Does not wait: for the moment before a change. @throws OperationError AUTHORITY_LOST */
    assertInPlace(): void {
      if (role !== 'authority' || !coordinator.isInPlace()) throw authorityLost()
    },
    role: (): Role => role,
    /** True if no process serves the tree once this one has left. */
    isLast: (): boolean => role === 'authority' && members.isAlone(),
    /** Process id of the authority; null while it is not known. */
    authorityPid: (): number | null => (role === 'authority' ? process.pid : (relay?.pid ?? null)),
    /** If this process is a relay, sends its authority the current facts of this process. */
    introduce(): void {
      relay?.introduce(hello())
    },
    /** Before the engine stops. Relays keep further requests for the next authority; this process, as a relay, withdraws what it has asked. */
    async announceLeaving(): Promise<void> {
      relay?.withdraw()
      // If the authority leaves meanwhile, another process takes over: an engine that stops could restore no lease.
      if (role !== 'authority') return ended.abort()
      // It would open the address anew.
      clearInterval(watch)
      server.stopListening()
      await server.announceLeaving(leaveMs)
    },
    /** Leaves the tree to the other processes. No client waits for this process any more. */
    async leave(): Promise<void> {
      ended.abort()
      clearInterval(watch)
      relay?.close()
      hold.leaveAddress()
      server.close()
      // Before the lock is free, and another process may join.
      if (role === 'authority' && members.isAlone()) members.remove()
      else members.leave()
      const isAuthority = role === 'authority'
      role = 'none'
      if (isAuthority) await coordinator.resign()
    }
  }
}
