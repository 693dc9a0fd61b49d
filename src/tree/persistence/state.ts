// The state of a tree on disk: read when this process becomes its authority, written while it is.
import { setTimeout as delay } from 'node:timers/promises'
import { atMost } from '../../support/at-most.ts'
import type { Logger } from '../../support/logger.ts'
import { createJournal, type JournalOptions, type Opened, type SetAside } from './journal.ts'
import type { KeptBases } from './kept-bases.ts'
import { gatherRecords } from './gathered-records.ts'
import type { PersistedPart } from './part.ts'
import { lockState, type StateLock } from './state-location.ts'
import { JournalFault, toJson } from './records.ts'
import { messageOf } from '../../support/error-message.ts'

export interface StateOptions extends Omit<JournalOptions, 'isShared'> {
  /** Of the journal. */
  readonly path: string
  /** Real path of the first root. */
  readonly tree: string
  /** Makes the folder of the journal. @throws Error that says what is in the way */
  readonly makeFolder: () => void
  /**
   * Called if a record cannot be written that another host must know. Undefined if one host serves the tree: one of several that forgot what
   * the others keep would grant what is held, and repeat what was made.
   */
  readonly onUnwritten?: ((error: unknown) => void) | undefined
  /** True while the root in which the journal lies is gone: the open files have gone along with it, and take what is written. */
  readonly isAway: () => boolean
  readonly parts: readonly PersistedPart[]
  /** Undefined if the bytes of versions are not kept. */
  readonly bases: KeptBases | undefined
  readonly debounceMs: number
  /** How long calls wait for what they can do without: histories, and what agents have read. Default 250 ms. */
  readonly graceMs?: number
  readonly log: Logger
  /** Called with what a user should look at; `message` is undefined when that is over. */
  readonly onTrouble: (about: Trouble, message: string | undefined) => void
  /** Called when everything has been restored. */
  readonly onRestored: () => void
}

/** What can be wrong: the journal cannot be written, the bases cannot be kept, an earlier state could not be used, the place keeps nothing. */
export type Trouble = 'journal' | 'bases' | 'set-aside' | 'place'

export type State = ReturnType<typeof createState>

/**
 * A dead authority's lock of the state is released a moment later than its lock of the tree, on a busy machine a long one. Until it is read
 * no call is carried out: a named change that was made before would be made again.
 */
const lockTries = 400
const lockRetryMs = 5
/** Delay between two attempts to write again. */
const healMs = 2000
/** Interval while the file is another tree's: a server of that tree that comes back must not find it locked. */
const foreignMs = 60_000
/** At a stop, for bytes that are still being compressed. */
const settleMs = 5000

export function createState(options: StateOptions) {
  const {
    path,
    tree,
    makeFolder,
    onUnwritten,
    isAway,
    parts,
    bases,
    debounceMs,
    graceMs = 250,
    log,
    onTrouble,
    onRestored
  } = options
  const isShared = onUnwritten !== undefined
  const journal = createJournal(path, tree, { ...options, isShared })
  const records = gatherRecords(parts, {
    append,
    flushLater
  })
  const listening = new Map<PersistedPart, () => void>()
  let lock: StateLock | undefined
  let opening: Promise<void> | undefined
  let restoring: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let healing: NodeJS.Timeout | undefined
  /** True while the journal lacks something: then it is rewritten. */
  let isBroken = false
  let rewriting: Promise<void> | undefined
  /** True once it was read, and changes are followed. */
  let hasBegun = false
  let isStopping = false
  let isClosed = false

  function flushLater(): void {
    timer ??= setTimeout(flushAndSync, debounceMs).unref()
  }

  async function openNow(): Promise<void> {
    try {
      makeFolder()
      for (let tries = 1; lock === undefined; tries += 1) {
        lock = lockState(path)
        if (lock !== undefined) break
        if (tries === lockTries) throw new Error('another process has its lock')
        await delay(lockRetryMs)
      }
      if (isClosed || isStopping) return unlock()
      begin()
    } catch (error) {
      unlock()
      // Its leases and receipts count, and only a later version of this program can keep them.
      if (isOfLaterVersion(error))
        throw new JournalFault(
          'newer',
          `the state ${path} cannot be used: ${error.message}. Start that version, or move the file away.`
        )
      if (isShared && !(error instanceof JournalFault)) throw error
      fail(error)
    }
  }

  function begin(): void {
    const start = performance.now()
    const { opened, aside } = journal.open()
    if (aside !== undefined) logSetAside(aside)
    openBases()
    // A lease or place that ends while it is restored is a change like any other.
    for (const part of parts)
      listening.set(
        part,
        part.onChange((change) => records.note(part, change))
      )
    for (const part of parts) if (part.isNeededAtOnce) void part.restore(opened?.records(part.name) ?? [])
    if (opened !== undefined) logOpened(opened, performance.now() - start)
    restoring = restoreRest(opened).finally(() => (restoring = undefined))
    if (!isBroken) onTrouble('journal', undefined)
    hasBegun = true
  }

  function openBases(): void {
    try {
      bases?.open()
    } catch (error) {
      const message = `the versions of files will not survive a restart: ${messageOf(error)}`
      onTrouble('bases', message)
    }
  }

  async function restoreRest(opened: Opened | undefined): Promise<void> {
    try {
      for (const part of parts) if (!part.isNeededAtOnce) await part.restore(opened?.records(part.name) ?? [])
      if (isClosed) return
      onRestored()
      if (opened?.isEarlier === true) void rewrite()
    } catch (error) {
      log.error({ err: error }, 'the known versions of the files from before the restart could not be restored')
    }
  }

  function logOpened({ count, tornBytes }: Opened, ms: number): void {
    if (tornBytes > 0)
      log.info({ path, bytes: tornBytes }, 'the last record of the state was incomplete, and is cut off')
    log.info({ path, records: count, ms: Math.round(ms) }, 'state restored')
  }

  function logSetAside({ reason, path: aside }: SetAside): void {
    const message = `the state ${path} cannot be used: ${reason}. It is now ${aside}, and the server goes on without its contents: leases, and who changed what.`
    onTrouble('set-aside', message)
  }

  /** Never throws: the next rewrite contains whatever is not written here. */
  function append(lines: readonly string[]): void {
    if (lock === undefined) return
    if (isBroken) return journal.remember(lines)
    try {
      journal.append(lines)
    } catch (error) {
      onUnwritten?.(error)
      fail(error)
    }
  }

  function flushAndSync(): void {
    timer = undefined
    if (lock === undefined) return
    records.flush()
    if (isBroken) return
    if (!journal.isInPlace() || !lock.isInPlace()) {
      // Synced, and if need be rewritten, once it is back.
      if (isAway()) return flushLater()
      return fail(
        new Error('it is not in its place: another program has removed or replaced it, or its disk does not answer')
      )
    }
    // A frozen part would be left out.
    if (journal.isLong() && restoring === undefined && !isStopping) void rewrite()
    else if (rewriting === undefined) void Promise.all([journal.sync(), bases?.sync()]).catch(onSyncFailed)
  }

  function rewrite(): Promise<void> {
    return (rewriting ??= rewriteNow().finally(() => (rewriting = undefined)))
  }

  async function rewriteNow(): Promise<void> {
    // Together, without an await: records gathered now are in both, and later ones in neither.
    records.flush()
    const all = parts.flatMap((part) => Array.from(part.dump(), (record): [string, unknown] => [part.name, record]))
    try {
      await journal.rewrite(jsonOf(all))
      isBroken = false
      onTrouble('journal', undefined)
    } catch (error) {
      if (!isClosed) fail(error)
    }
  }

  function fail(error: unknown): void {
    const isForeign = error instanceof JournalFault
    if (!isBroken || isForeign) onTrouble('journal', isForeign ? describeForeign(error) : describeFailure(error))
    isBroken = true
    healing ??= setTimeout(
      () => {
        healing = undefined
        void heal()
      },
      isForeign ? foreignMs : healMs
    ).unref()
  }

  function describeFailure(error: unknown): string {
    return `the state ${path} cannot be written: ${messageOf(error)}. Operations go on, but changes of the state from now on will not survive a restart.`
  }

  function describeForeign({ message }: JournalFault): string {
    return `nothing will survive a restart: ${path} is left as it is, because ${message}. Give each tree its own persistence.state_file, or remove that file.`
  }

  async function heal(): Promise<void> {
    if (isClosed) return
    await restoring
    if (isClosed) return
    if (lock?.isInPlace() === true) return rewrite()
    // The lock keeps other processes from the journal until it is back.
    if (lock !== undefined && isAway()) return fail(new Error('its root is gone'))
    // Our folder has been removed, or never was ours.
    unlock()
    try {
      makeFolder()
      lock = lockState(path)
    } catch (error) {
      return fail(error)
    }
    if (lock === undefined) return fail(new Error('another process has its lock'))
    if (!hasBegun) {
      try {
        begin()
      } catch (error) {
        unlock()
        return fail(error)
      }
      await restoring
    } else {
      openBases()
    }
    // Contains what has happened while nothing could be written.
    if (!isClosed) await rewrite()
  }

  function onSyncFailed(error: unknown): void {
    if (isClosed || lock === undefined) return
    // What was written has gone along with the root, and is synced once it is back.
    if (!isBroken && isAway()) return flushLater()
    fail(error)
  }

  function unlock(): void {
    lock?.release()
    lock = undefined
  }

  function end(): void {
    isClosed = true
    clearTimeout(timer)
    clearTimeout(healing)
    for (const unsubscribe of listening.values()) unsubscribe()
    listening.clear()
    journal.close()
    bases?.close()
    unlock()
  }

  return {
    /**
     * Resolves when leases and places in line are restored. One server that forgets is better than none, so it does not fail but for one reason.
     * @throws Error if a later version of this program has written the state; if it is shared, also if it cannot be read or written
     */
    open(): Promise<void> {
      if (lock !== undefined || isClosed) return Promise.resolve()
      opening ??= openNow().finally(() => (opening = undefined))
      return opening
    },
    /** After `open`: resolves when all is restored, or after the time for which calls wait for that. Never fails. */
    async settled(): Promise<void> {
      if (restoring !== undefined) await atMost(graceMs, restoring)
    },
    /** What the stop ends is not removed from the state. */
    beginStop(): void {
      isStopping = true
      records.flush()
      for (const [part, unsubscribe] of listening) {
        if (part.isFrozenByStop !== true) continue
        unsubscribe()
        listening.delete(part)
      }
    },
    /** Writes everything, and leaves the state to the next process. */
    async close(): Promise<void> {
      await opening
      if (isClosed) return
      // What happened while nothing could be written: there may be a way by now.
      if (lock !== undefined && isBroken) await rewrite()
      if (lock !== undefined && !isBroken) {
        records.flush()
        await Promise.all([journal.sync(), bases?.sync()]).catch((error: unknown) =>
          log.warn({ err: error }, 'the state may not survive a power loss')
        )
      }
      await bases?.settle(settleMs)
      end()
    },
    /** Another process has the tree by now, and with it the state: nothing more is written. */
    abandon: end
  }
}

function isOfLaterVersion(error: unknown): error is JournalFault {
  return error instanceof JournalFault && error.fault === 'newer'
}

function* jsonOf(records: readonly (readonly [string, unknown])[]): Generator<string, undefined> {
  for (const [part, record] of records) yield toJson(part, record)
}
