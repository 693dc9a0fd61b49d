// The parts of the engine that survive a restart, where they are kept, and whether they are kept at all.
import { existsSync } from 'node:fs'
import type { Config } from '../../../schemas/config.ts'
import type { Bases } from '../../engine/versions/bases.ts'
import type { FileStore } from '../../engine/files/file-store.ts'
import type { History } from '../../engine/versions/history.ts'
import type { LockManager } from '../../engine/locks/lock-manager.ts'
import type { Logger } from '../../engine/context.ts'
import type { LostLeases } from '../../engine/leases/lost-leases.ts'
import type { Tickets } from '../../engine/leases/tickets.ts'
import type { ReadTracker } from '../../engine/versions/read-tracker.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import { createHistoryPart } from './history-part.ts'
import { createKeptBases } from './kept-bases.ts'
import { createLeasePart } from './lease-part.ts'
import { createLossPart } from './loss-part.ts'
import { statePathOf } from './place.ts'
import { createReceiptPart, type ReceiptPart } from './receipt-part.ts'
import { createRevalidation } from './revalidate.ts'
import { createState, type Trouble } from './state.ts'
import { createTicketPart } from './ticket-part.ts'
import { createViewPart } from './view-part.ts'

export interface Persistence {
  /** This process has become the authority: resolves when the state of earlier ones is restored. Never fails. */
  readonly open: () => Promise<void>
  /** Called before the waiters are sent away. */
  readonly beginStop: () => void
  /** Called after the last operation has ended. */
  readonly close: () => Promise<void>
  /** Another process has the tree. */
  readonly abandon: () => void
  /** True once something is kept. */
  readonly isEnabled: () => boolean
}

export interface PersistenceOptions {
  readonly settings: Config['persistence']
  /** True if no setting says whether: then this process continues what another one keeps of this tree, and begins nothing. */
  readonly followsOthers: boolean
  /** Of this user. */
  readonly dataFolder: string
  readonly files: FileStore
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

export function createPersistence(options: PersistenceOptions): Persistence {
  const { settings, followsOthers, dataFolder, files, bases, locks, history, log, onTrouble } = options
  const [first, ...others] = files.roots.map(({ real }) => real)
  const revalidation = new AbortController()
  const path = first === undefined ? undefined : statePathOf([first, ...others], settings.state_file, dataFolder)
  let state: ReturnType<typeof createState> | undefined

  function create(tree: string, statePath: string) {
    const check = createRevalidation({ files, bases, history, locks, log }, revalidation.signal)
    const kept = createKeptBases(`${statePath}.bases`, {
      maxBytes: settings.max_base_bytes,
      maxAgeMs: settings.max_base_age_days * dayMs,
      debounceMs: settings.write_debounce_seconds * 1000,
      onTrouble(error) {
        onTrouble('bases', error && `the versions of files will not survive a restart: ${error.message}`)
      }
    })
    bases.attach(kept)
    const receiptPart = createReceiptPart(options)
    return createState({
      path: statePath,
      leavesForeign: settings.state_file !== null,
      tree,
      parts: createParts(options, receiptPart),
      bases: kept,
      debounceMs: settings.write_debounce_seconds * 1000,
      log,
      onTrouble(about, message) {
        if (about === 'journal') receiptPart.setWritable(message === undefined)
        onTrouble(about, message)
      },
      onRestored() {
        check.run([...history.paths()]).catch((error: unknown) => {
          log.error({ err: error }, 'the files could not be compared with their known versions')
        })
      }
    })
  }

  return {
    async open() {
      if (first === undefined || path === undefined) return
      if (!settings.enabled && !(followsOthers && existsSync(path))) return
      state ??= create(first, path)
      await state.open()
    },
    beginStop() {
      revalidation.abort()
      state?.beginStop()
    },
    close: async () => state?.close(),
    abandon() {
      revalidation.abort()
      state?.abandon()
    },
    isEnabled: () => state !== undefined
  }
}

/** In the order in which they are restored. */
function createParts(
  { settings, locks, lostLeases, tickets, history, reads, log }: PersistenceOptions,
  receiptPart: ReceiptPart
) {
  const leases = createLeasePart({ locks, lostLeases, log })
  return [
    receiptPart,
    createLossPart(lostLeases),
    leases,
    createTicketPart({ tickets, locks, lostLeases, leases, ttlMultiplier: settings.ttl_multiplier }),
    createHistoryPart(history),
    createViewPart(reads)
  ]
}
