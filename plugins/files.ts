// app.files, app.commits, app.bases, app.history: the files below the roots, and their remembered versions.
import fp from 'fastify-plugin'
import { createBases, type Bases } from '../src/engine/versions/bases.ts'
import { createHistory, type History } from '../src/engine/versions/history.ts'
import { servedDirectory } from '../src/tree/state/served-directory.ts'
import { createCommits, type Commits } from '../src/engine/commit/commits.ts'
import { createFileStore, type FileStore } from '../src/engine/files/file-store.ts'
import type { Settled } from '../src/engine/commit/settle.ts'
import { sweepLeftovers } from '../src/engine/commit/leftovers.ts'
import { recordSettled } from '../src/engine/versions/record-settled.ts'
import type { Config } from '../src/config/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    files: FileStore
    commits: Commits
    bases: Bases
    history: History
    /** Looks in the background for leftovers of processes that are gone. */
    sweepLeftovers: () => void
    /** Finishes the transactions of processes that are gone. @returns records their versions; call it once earlier versions are restored */
    settleTransactions: () => () => void
  }
}

/** Between two attempts to settle a transaction. */
const settleMs = 1000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export default fp<{ config: Config }>(
  async (app, { config: { crud, tree } }) => {
    const maxAgeMs = crud.max_history_age_days === 0 ? Infinity : crud.max_history_age_days * dayMs
    const history = createHistory({
      maxFiles: crud.max_history_files,
      maxVersions: crud.max_file_versions,
      maxBytes: crud.max_history_bytes,
      maxAgeMs
    })
    const unfinished = new Set<string>()
    function onUnfinished(message: string): () => void {
      unfinished.add(message)
      app.degradations.set('transaction', [...unfinished].join(' '))
      return () => {
        unfinished.delete(message)
        app.degradations.set('transaction', unfinished.size > 0 ? [...unfinished].join(' ') : undefined)
      }
    }
    const files = createFileStore({
      roots: crud.base_directories,
      knownAs: tree.known_as,
      maxFileBytes: crud.max_file_size_bytes,
      maxSyncBytes: crud.sync_io_max_bytes,
      hardlinks: crud.hardlinks,
      protectedPaths: crud.protected,
      isKnown: (path) => history.last(path) !== undefined
    })
    const commits = createCommits(files, {
      durability: crud.durability,
      maxFileBytes: crud.max_file_size_bytes,
      maxSyncBytes: crud.sync_io_max_bytes,
      openOwnFolder: servedDirectory,
      isStaged: tree.coordinator === 'etcd',
      onUnfinished
    })
    app.decorate('files', files)
    app.decorate('commits', commits)
    app.decorate('history', history)
    app.decorate('bases', createBases({ maxBytes: crud.base_cache_bytes }))
    const aging = setInterval(() => history.expire(), Math.max(1000, Math.min(maxAgeMs / 24, hourMs))).unref()
    app.decorate('settleTransactions', () => {
      const settle = () => commits.settleTransactions((hash, bytes) => app.bases.keep(hash, bytes))
      const settled = settle()
      for (const { message } of settled) app.log.warn(message)
      settleLater(settled, settle)
      return () => {
        for (const { record, isMade } of settled) if (isMade && record !== undefined) recordSettled(record, app)
      }
    })
    let isUnsettled = false
    /** What a killed process has left may be held open by another program for a while. */
    function settleLater(settled: readonly Settled[], settle: () => Settled[]): void {
      const left = settled.filter(({ isLeft }) => isLeft === true).map(({ message }) => message)
      const wasUnsettled = isUnsettled
      isUnsettled = left.length > 0
      if (!isUnsettled && wasUnsettled) app.sweepLeftovers()
      if (!isUnsettled) return
      const end = onUnfinished(left.join(' '))
      setTimeout(() => {
        end()
        if (sweep.signal.aborted || app.tree.role() !== 'authority') return
        const again = settle()
        for (const { message, isLeft, record, isMade } of again) {
          if (isLeft !== true) app.log.warn(message)
          if (isMade && record !== undefined) recordSettled(record, app)
        }
        settleLater(again, settle)
      }, settleMs).unref()
    }
    const sweep = new AbortController()
    app.decorate('sweepLeftovers', () => {
      // The old and the new bytes of a transaction that is not settled have such names.
      if (isUnsettled) return
      clearAway().catch((error: unknown) => app.log.warn({ err: error }, 'could not look for leftover temporary files'))
    })
    async function clearAway(): Promise<void> {
      const removed = await sweepLeftovers(files.roots, sweep.signal)
      if (removed > 0) app.log.info({ removed }, 'removed temporary files of a process that is gone')
      // Only after the sweep are the folders empty that were made for a file.
      if (sweep.signal.aborted) return
      for (const message of await commits.settleUnfinished()) app.log.warn(message)
    }
    app.addHook('onClose', async () => {
      clearInterval(aging)
      sweep.abort()
      commits.close()
      files.close()
    })
  },
  { name: 'files', dependencies: ['degradations'] }
)
