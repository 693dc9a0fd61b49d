// The parts of the engine that survive a restart, where they are kept, and whether they are kept at all.
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import type { Config } from '../../../schemas/config.ts'
import type { Bases } from '../../engine/versions/bases.ts'
import type { Commits } from '../../engine/commit/commits.ts'
import type { FileStore } from '../../engine/files/file-store.ts'
import { isGone } from '../../engine/files/root-presence.ts'
import type { Root } from '../../engine/files/roots.ts'
import type { History } from '../../engine/versions/history.ts'
import type { LockManager } from '../../engine/locks/lock-manager.ts'
import type { Logger } from '../../support/logger.ts'
import type { LostLeases } from '../../engine/leases/lost-leases.ts'
import type { Tickets } from '../../engine/leases/tickets.ts'
import type { ReadTracker } from '../../engine/seen/read-tracker.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import { messageOf } from '../../support/error-message.ts'
import { isInMemory } from '../../support/in-memory.ts'
import { below } from '../../support/relocate.ts'
import { isLack, notElected } from '../coordinator/volume-proof.ts'
import { beginEpochJournal, hostsFolderOf } from './epoch-journal.ts'
import { createHistoryPart } from './history-part.ts'
import { createKeptBases } from './kept-bases.ts'
import { createLeasePart } from './lease-part.ts'
import { createLossPart } from './loss-part.ts'
import { livePathOf, makeStateFolder, statePathOf } from './state-location.ts'
import { JournalFault } from './records.ts'
import { createReceiptPart, type ReceiptPart } from './receipt-part.ts'
import { createRevalidation } from './revalidate.ts'
import { createState, type Trouble } from './state.ts'
import { createTicketPart } from './ticket-part.ts'
import { createViewPart } from './view-part.ts'

/** Where the state of a tree is. */
export interface StateLocation {
  readonly path: string
  /** True if it stays once no process serves the tree. */
  readonly isKept: boolean
}

export type Persistence = ReturnType<typeof createPersistence>

export interface PersistenceOptions {
  readonly settings: Config['persistence']
  /** How long the place of a waiting call is kept until its relay asks again. */
  readonly placeGraceMs: number
  /** True if no setting says whether: then this process continues what another one keeps of this tree, and begins nothing. */
  readonly followsOthers: boolean
  /** Of this user. */
  readonly dataFolder: string
  readonly files: FileStore
  readonly commits: Commits
  readonly bases: Bases
  readonly history: History
  readonly locks: LockManager
  readonly lostLeases: LostLeases
  readonly tickets: Tickets
  readonly reads: ReadTracker
  readonly receipts: Receipts
  readonly log: Logger
  /** Called with a sentence about what does not work; undefined when that is over. */
  readonly onTrouble: (about: Trouble, message: string | undefined) => void
}

const dayMs = 86_400_000

export function createPersistence(options: PersistenceOptions) {
  const { settings, followsOthers, dataFolder, files, commits, bases, locks, history, log, onTrouble } = options
  const [firstRoot] = files.roots
  const [first, ...others] = files.roots.map(({ real }) => real)
  const revalidation = new AbortController()
  let location: StateLocation | undefined
  /** Several hosts share it. */
  let isOnVolume = false
  let state: ReturnType<typeof createState> | undefined

  function chooseLocation(tree: string): StateLocation {
    const path = statePathOf([tree, ...others], settings.state_file, dataFolder)
    const isKept = settings.enabled || (followsOthers && existsSync(path))
    return isKept ? { path, isKept } : { path: livePathOf(tree), isKept }
  }

  function chooseOnVolume(tree: string, epoch: number): StateLocation {
    try {
      return { path: beginEpochJournal(tree, epoch), isKept: true }
    } catch (error) {
      if (!(error instanceof JournalFault) || error.fault === 'newer') throw error
      onTrouble(
        'set-aside',
        `the state of the epoch before ${epoch} could not be read, and the host goes on without it: ${messageOf(error)}`
      )
      return { path: join(dirname(livePathOf(tree)), `epoch-${epoch}`), isKept: true }
    }
  }

  /** Keeping the bytes costs a tenth of the updates, and no call depends on them: without persistence they stay in memory. */
  function createBases(statePath: string) {
    const kept = createKeptBases(`${statePath}.bases`, {
      maxBytes: settings.max_base_bytes,
      maxAgeMs: settings.max_base_age_days * dayMs,
      debounceMs: settings.write_debounce_seconds * 1000,
      onTrouble(error) {
        onTrouble('bases', error && `the versions of files will not survive a restart: ${error.message}`)
      }
    })
    bases.attach(kept)
    return kept
  }

  /** What the system lacks may come back, and the next host would lack it, too. */
  function leaveUnlessLacking(error: unknown): void {
    if (!isLack(error)) commits.stages?.doubt()
  }

  function create(tree: string, { path, isKept }: StateLocation) {
    const check = createRevalidation({ files, bases, history, locks, log }, revalidation.signal)
    const receiptPart = createReceiptPart(options)
    return createState({
      path,
      leavesForeign: isKept && settings.state_file !== null,
      isDurable: isKept,
      onUnwritten: isOnVolume ? leaveUnlessLacking : undefined,
      tree,
      makeFolder: () => makeStateFolder(path, files.roots, dataFolder),
      isAway: () => files.roots.some((root) => below(root.real, path) !== undefined && isGone(root)),
      parts: createParts(options, receiptPart),
      bases: isKept && !isOnVolume ? createBases(path) : undefined,
      debounceMs: settings.write_debounce_seconds * 1000,
      log,
      onTrouble(about, message) {
        if (about === 'journal') receiptPart.setWritable(message === undefined)
        onTrouble(about, message)
      },
      onRestored() {
        check.run(history.paths()).catch((error: unknown) => {
          log.error({ err: error }, 'the files could not be compared with their known versions')
        })
      }
    })
  }

  return {
    /**
     * This process has become the authority: resolves when what earlier ones have left of leases is restored.
     * @param isContinued false if no process has taken part in serving the tree until now
     * @param epoch of the authority if several hosts serve the tree: then the state is on their volume, and stays there
     * @throws Error if a later version of this program has written the state, or if several hosts share one that cannot be read or written:
     * then this process must not serve the tree
     */
    async open(isContinued: boolean, epoch?: number): Promise<void> {
      // An engine that stops restores nothing, and must not write that down.
      if (first === undefined || revalidation.signal.aborted) return
      isOnVolume = epoch !== undefined
      try {
        if (epoch !== undefined && state === undefined) location = chooseOnVolume(first, epoch)
        location ??= chooseLocation(first)
        // What a killed process has left of a tree that no process has served since.
        if (!isContinued) removeLive(firstRoot)
        state ??= create(first, location)
        await state.open()
      } catch (error) {
        if (!isOnVolume || error instanceof JournalFault) throw error
        // The next election has another epoch.
        state?.abandon()
        state = undefined
        throw notElected(describeUnread(first, error))
      }
      // If the tree lies in memory, too, both end at once.
      const isLost = location.isKept && isInMemory(dirname(location.path)) && !isInMemory(first)
      onTrouble('place', isLost ? describeInMemory(location.path) : undefined)
    },
    /** After `open`: resolves when the rest is restored as well, unless that takes long. Never fails. */
    settled: async (): Promise<void> => state?.settled(),
    /** For relays, which continue it. Undefined before `open`. */
    location: () => location,
    /** This process relays to an authority whose state is there, and continues that state once it takes over. */
    follow: (next: StateLocation | undefined): void => {
      if (state === undefined) location = next
    },
    /** Called before the waiters are sent away. */
    beginStop(): void {
      revalidation.abort()
      state?.beginStop()
    },
    /** Called after the last operation has ended. @param isLast true if no process serves the tree any more */
    async close(isLast: boolean): Promise<void> {
      await state?.close()
      if (isLast) removeLive(firstRoot)
    },
    /** Another process has the tree. */
    abandon(): void {
      revalidation.abort()
      state?.abandon()
    },
    /** True if the state stays once no process serves the tree. */
    isEnabled: () => location?.isKept === true
  }
}

function describeUnread(tree: string, error: unknown): string {
  return `the state that the hosts before have left in ${hostsFolderOf(tree)} cannot be read (${messageOf(error)}); if no other host can, look at that folder.`
}

function describeInMemory(path: string): string {
  return `the state ${path} lies in a file system in memory (tmpfs): it will not survive a restart of the machine or the container. Name a place on a disk by persistence.state_file, or mount a volume there.`
}

function removeLive(root: Root | undefined): void {
  // What is at its path may be the state of another server.
  if (root === undefined || isGone(root)) return
  // Else the next process removes it.
  attempt(() => rmSync(dirname(livePathOf(root.real)), { recursive: true, force: true }))
}

/** In the order in which they are restored. */
function createParts(
  { settings, placeGraceMs, locks, lostLeases, tickets, history, reads, log }: PersistenceOptions,
  receiptPart: ReceiptPart
) {
  const leases = createLeasePart({ locks, lostLeases, log })
  return [
    receiptPart,
    createLossPart(lostLeases),
    leases,
    createTicketPart({ tickets, locks, lostLeases, leases, ttlMultiplier: settings.ttl_multiplier, placeGraceMs }),
    createHistoryPart(history),
    createViewPart(reads)
  ]
}
