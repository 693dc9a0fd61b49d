// What killed processes have left of their changes: finished or taken back when this process becomes the authority, and cleared away.
import type { Commits } from '../../engine/commit/commits.ts'
import { sweepLeftovers } from '../../engine/commit/leftovers.ts'
import type { Settled } from '../../engine/commit/settle.ts'
import type { FileStore } from '../../engine/files/file-store.ts'
import type { Bases } from '../../engine/versions/bases.ts'
import type { History } from '../../engine/versions/history.ts'
import { recordSettled } from '../../engine/versions/record-settled.ts'
import type { Logger } from '../../support/logger.ts'

interface SettlementOptions {
  readonly files: FileStore
  readonly commits: Commits
  readonly bases: Bases
  readonly history: History
  readonly log: Logger
  /** Some steps of a change could not be taken back yet. @returns called once they have been */
  readonly onUnfinished: (message: string) => () => void
  readonly isAuthority: () => boolean
}

export type Settlement = ReturnType<typeof createSettlement>

/** Between two attempts to settle a change. */
const retryMs = 1000

export function createSettlement({
  files,
  commits,
  bases,
  history,
  log,
  onUnfinished,
  isAuthority
}: SettlementOptions) {
  const stop = new AbortController()
  /** What is told of changes that could not be ended yet. */
  let told: { readonly message: string; readonly end: () => void } | undefined

  const settle = () => commits.settle((hash, bytes) => bases.keep(hash, bytes))

  function record(settled: readonly Settled[]): void {
    for (const { made } of settled) if (made !== undefined) recordSettled(made, { files, bases, history })
  }

  /** What a killed process has left may be held open by another program for a while. */
  function settleLater(settled: readonly Settled[]): void {
    const left = settled.filter(({ isLeft }) => isLeft === true).map(({ message }) => message)
    const wasLeft = told !== undefined
    tell(left.length === 0 ? undefined : left.join(' '))
    if (told === undefined) {
      if (wasLeft) sweep()
      return
    }
    setTimeout(() => {
      if (stop.signal.aborted || !isAuthority()) return tell(undefined)
      const again = settle()
      for (const { message, isLeft } of again) if (isLeft !== true) log.warn({}, message)
      record(again)
      settleLater(again)
    }, retryMs).unref()
  }

  function tell(message: string | undefined): void {
    if (message === told?.message) return
    told?.end()
    told = message === undefined ? undefined : { message, end: onUnfinished(message) }
  }

  function sweep(): void {
    // The old and the new bytes of a change that is not settled have such names.
    if (told !== undefined) return
    void commits.stages?.sweep().catch(() => {})
    clearAway().catch((error: unknown) => log.warn({ err: error }, 'could not look for leftover temporary files'))
  }

  async function clearAway(): Promise<void> {
    const removed = await sweepLeftovers(files.roots, stop.signal)
    if (removed > 0) log.info({ removed }, 'removed temporary files of a process that is gone')
  }

  return {
    /** Ends the changes of processes that are gone. @returns records their versions; call it once earlier versions are restored */
    settle(): () => void {
      const settled = settle()
      for (const { message } of settled) log.warn({}, message)
      settleLater(settled)
      const endWait = history.expect(settled.flatMap(({ made }) => made?.steps.map(({ path }) => path) ?? []))
      return () => {
        record(settled)
        endWait()
      }
    },
    /** Removes, in the background, what else they have left. Call it once receipts are judged by what is there. */
    sweep,
    close: () => stop.abort()
  }
}
