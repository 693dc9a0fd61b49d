// The tree as this process sees it: one engine for all of its processes, and a state file that says where they are.
import type { ByteBudget } from '../../engine/budget/byte-budget.ts'
import type { Config } from '../../../schemas/config.ts'
import type { Coordinator } from '../coordinator/coordinator.ts'
import { withCommonPaths } from '../coordinator/common-paths.ts'
import { withKnownHooks } from '../coordinator/hook-paths.ts'
import { withReadsAlone } from '../coordinator/read-alone.ts'
import type { HostFacts } from '../coordinator/host-facts.ts'
import type { Member } from '../state/state-file.ts'
import { createStateFiles } from '../state/state-files.ts'
import type { CalledOperation, TreeFacts } from '../../engine/call/context.ts'
import type { Logger } from '../../support/logger.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import type { Events } from '../../engine/events/event-hub.ts'
import type { Root } from '../../engine/files/roots.ts'
import { createAsking } from './asking.ts'
import { createAuthorityServer } from './authority-server.ts'
import { createTreeCall, guardAnswers } from './call-tree.ts'
import type { EngineLink } from '../../engine/call/engine-link.ts'
import { createEventFeed } from './event-feed.ts'
import { createHandOver } from './hand-over.ts'
import { createMembership } from './membership.ts'
import { protocol, type EngineSettings, type StateOnDisk } from './messages.ts'
import { createObstacle } from './obstacle.ts'

/** What the tree needs only of the engine of this process. */
interface OwnEngine extends EngineLink {
  /** Ends the waits of a connection for leases, and no lease. */
  readonly cancelWaits: (connection: string) => void
  /** The sessions and connections with which leases end. */
  readonly leaseConnections: () => Iterable<string>
  /** The names of the calls whose places are kept until their relays ask again. */
  readonly places: () => readonly string[]
}

export interface TreeOptions {
  readonly coordinator: Coordinator
  /** Of this process. */
  readonly engine: OwnEngine
  /** Of the bytes of requests in progress in this process. */
  readonly budget: ByteBudget
  /** The clients that follow the tree through this process. */
  readonly events: Events
  /** The first names the tree. */
  readonly roots: readonly [Root, ...Root[]]
  /** Of the first root: the real path, and as it was given. */
  readonly spellings: readonly [string, ...string[]]
  readonly findOperation: (name: string) => CalledOperation | undefined
  /** Of this process. */
  readonly receipts: Pick<Receipts, 'lineage' | 'onLineage'>
  /** The current settings. */
  readonly config: () => Config
  /** This process, as it can be reached right now. */
  readonly member: () => Member
  /** Reads what earlier authorities have left, before the first call is carried out. Never fails. */
  readonly openState: (isContinued: boolean, epoch: number | undefined) => Promise<void>
  readonly state: () => StateOnDisk | undefined
  /** This process relays to an authority that keeps the state there. */
  readonly followState: (state: StateOnDisk | undefined) => void
  /** Called each time the engine of this process becomes that of the tree, and each time it relays to another process. */
  readonly onRole: (role: 'authority' | 'relay') => void
  /** Called when another process has taken the tree from this one: the locks and leases held here are void. */
  readonly onDisplaced: () => void
  /** Reports the condition of a part: undefined if all is well. */
  readonly degrade: (part: string, message: string | undefined) => void
  readonly log: Logger
}

/** The engine of the tree, wherever it runs. */
export interface Tree extends Omit<EngineLink, 'feed' | 'endPlace'>, TreeFacts {
  /**
   * The standard input of this process has ended, and the process leaves soon. Its client waits for no lease any more; its leases
   * end here if another process serves the tree, and with `endConnections` otherwise.
   */
  readonly hangUp: (connection: string) => void
  /** After the engine has granted its last lock: ends the leases of this process's own clients, for the next authority to find. */
  readonly endConnections: () => void
  /** True if no process serves the tree once this one has left. */
  readonly isLast: () => boolean
  /** Joins the tree if this process has not joined yet. @throws Error that says what is in the way */
  readonly join: () => Promise<unknown>
  /** Before a client follows `events`: resolves once those of the tree reach it. @throws OperationError as a call */
  readonly bringEvents: () => Promise<void>
  /** Undefined if one host serves the tree. */
  readonly hostFacts: () => HostFacts | undefined
  /** What is wrong with the authority, seen from here: why calls get no answer, found within this time; undefined if nothing is. */
  readonly findObstacle: (limitMs: number) => Promise<string | undefined>
  /** This process has begun to listen: updates what programs that look for the tree find. */
  readonly introduce: () => void
  /** Before the engine of this process stops. Resolves when no relay asks it anything more. */
  readonly announceLeaving: () => Promise<void>
  /** After the engine has stopped. */
  readonly leave: () => Promise<void>
}

export function createTree(options: TreeOptions): Tree {
  const { coordinator, budget, events, findOperation, config, member, openState, state, followState } = options
  const [{ real: root, knownAs }, ...others] = options.roots
  const roots = [root, ...others.map(({ real }) => real)] as const
  const { onRole, onDisplaced, degrade, log } = options
  const engine = coordinator.isLeased ? guardAnswers(options.engine, coordinator) : options.engine
  // Programs that look for the tree on another host would not reach this one by it.
  const stateFiles = createStateFiles(coordinator.isLeased ? [] : options.roots, (message) =>
    degrade('state file', message)
  )
  const callKnown = withKnownHooks(engine.call, root, knownAs)
  const settings = (): EngineSettings => ({ crud: config().crud, locks: config().locks })
  const obstacle = createObstacle(roots, { degrade, log })
  const eventFeed = createEventFeed(events, (error) =>
    log.warn({ err: error }, 'the events of the tree cannot be received')
  )
  const server = createAuthorityServer({
    engine: {
      ...engine,
      call: async (...call) => onThisEngine(() => callKnown(...call)),
      // Not before the places of an earlier authority have been restored.
      endPlace: (place) => void onThisEngine(async () => engine.endPlace(place)).catch(() => {}),
      ask: async (question) => onThisEngine(() => engine.ask(question))
    },
    findOperation,
    names: coordinator.names,
    knownAs,
    roots,
    settings,
    state,
    receipts: options.receipts,
    view: coordinator.view,
    budget,
    onRelayLost: (relay, connections) => handOver.awaitRelay(relay, connections),
    onMembersChange: announce,
    onError: (error) => log.warn({ err: error }, 'a relay could not be accepted')
  })
  const handOver = createHandOver({
    disconnect: engine.disconnect,
    leaseConnections: engine.leaseConnections,
    places: engine.places,
    endPlace: engine.endPlace,
    isNamedElsewhere: server.hasConnection,
    graceMs: () => config().locks.reconnect_grace_seconds * 1000
  })
  const membership = createMembership({
    coordinator,
    engine,
    server,
    spellings: options.spellings,
    hello: () => ({
      type: 'hello',
      protocol,
      roots: coordinator.names(),
      known_as: knownAs,
      member: member(),
      connections: [...handOver.connections]
    }),
    timeoutMs: () => config().daemon.authority_timeout_seconds * 1000,
    async openState(isContinued) {
      await openState(isContinued, coordinator.epoch())
      handOver.awaitAll()
    },
    onAuthority() {
      obstacle.end()
      log.info({ root }, 'authority of the tree')
      announce()
      eventFeed.takeOver()
      onRole('authority')
    },
    onRelay(relay) {
      const { pid, settings: authoritySettings } = relay
      obstacle.end()
      followState(relay.state)
      eventFeed.changeTo(relay)
      onRole('relay')
      log.info({ root, authority_pid: pid }, 'relaying to the authority of the tree')
      // The roots of one tree can be mounted elsewhere on another host, or in a container.
      const isElsewhere = coordinator.isLeased || relay.roots[0] !== root
      const differing = differingSettings(settings(), authoritySettings).filter(
        (name) => !isElsewhere || name !== 'crud.base_directories'
      )
      if (differing.length > 0)
        log.warn(
          { settings: differing },
          'the authority of the tree has other values for these settings, and its values are in force'
        )
    },
    onWatch() {
      obstacle.end()
      if (!stateFiles.areInPlace()) announce()
    },
    onTrouble: (error) => obstacle.report(error),
    onDisplaced
  })

  const ask = createAsking({
    current: membership.current,
    find: linkFor,
    lineageOf: (link) => (link === engine ? options.receipts.lineage : link.lineage?.())
  })

  /** A relay's request is carried out only if this process still has the tree. */
  async function onThisEngine<Result>(use: () => Promise<Result>): Promise<Result> {
    try {
      await membership.ensureHold()
    } catch (error) {
      throw obstacle.explain(error)
    }
    return use()
  }

  /** Publishes to other programs where clients reach the tree: here, else at a relay that listens. */
  function announce(): void {
    if (membership.role() !== 'authority') return
    const self = member()
    stateFiles.write(self.port === null ? (server.members().find(({ port }) => port !== null) ?? self) : self)
  }

  async function linkFor(signal?: AbortSignal): Promise<EngineLink> {
    try {
      return await membership.link(signal)
    } catch (error) {
      throw obstacle.explain(error)
    }
  }

  /** The authority reports its own state itself; its relays know only that no journal takes what it changes. */
  function findUnwritten(): string | undefined {
    const link = membership.current()
    if (link === undefined || link === engine || link.lineage?.() !== undefined) return undefined
    return `Process ${membership.authorityPid()}, which serves this tree, cannot write the state of the tree. Operations go on, but if that process ends, leases, places in line and the receipts of changes from this time are lost. Its log says what is in the way.`
  }

  function disconnect(connection: string): void {
    handOver.remove(connection)
    // A process that has made no call has taken no lease, and owns nothing.
    if (membership.role() !== 'none') notify((link) => link.disconnect(connection))
  }

  /** Whichever process serves the tree, or will. */
  function notify(tell: (link: EngineLink) => void): void {
    membership.link().then(tell, () => {})
  }

  const callTree = createTreeCall({
    engine,
    ask,
    handOver,
    endPlace: (place) => notify((link) => link.endPlace(place))
  })
  const callOrRead = withReadsAlone(callTree, options.engine.call)
  const callOfHosts = withCommonPaths(callOrRead, [...options.spellings, ...knownAs])

  return {
    call: withKnownHooks(coordinator.isLeased ? callOfHosts : callTree, root, knownAs),
    disconnect,
    hangUp(connection) {
      if (membership.role() === 'authority') engine.cancelWaits(connection)
      else disconnect(connection)
    },
    endConnections() {
      if (membership.role() === 'authority') handOver.endOwn()
    },
    isLast: membership.isLast,
    ask: (question) => ask((link) => link.ask(question), { repeats: 'always' }),
    bringEvents: () =>
      ask(async (link) => (link === engine ? undefined : eventFeed.begin(link)), { repeats: 'always' }),
    assertInPlace: () => membership.assertInPlace(),
    findObstacle: async (limitMs) => (await membership.findObstacle(limitMs)) ?? findUnwritten(),
    join: () => membership.link(),
    hostFacts: coordinator.facts,
    role: membership.role,
    authorityPid: membership.authorityPid,
    introduce() {
      announce()
      membership.introduce()
    },
    announceLeaving: () => membership.announceLeaving(),
    async leave() {
      handOver.close()
      if (membership.role() === 'authority') stateFiles.remove()
      await membership.leave()
    }
  }
}

function differingSettings(own: EngineSettings, authority: EngineSettings): string[] {
  const sections = ['crud', 'locks'] as const
  return sections.flatMap((section) =>
    Object.entries(own[section])
      .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(authority[section][name]))
      .map(([name]) => `${section}.${name}`)
  )
}
