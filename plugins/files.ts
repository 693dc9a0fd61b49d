// app.files, app.bases, app.history: the files below the roots, and the versions of them that are remembered.
import fp from 'fastify-plugin'
import { createBases, type Bases } from '../src/files/bases.ts'
import { createHistory, type History } from '../src/files/history.ts'
import { createFileStore, type FileStore } from '../src/files/file-store.ts'
import { sweepLeftovers } from '../src/files/leftovers.ts'
import type { Config } from '../src/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    files: FileStore
    bases: Bases
    history: History
    /** Looks in the background for temporary files of processes that are gone. */
    sweepLeftovers: () => void
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { crud } }) => {
    const files = createFileStore({
      roots: crud.base_directories,
      maxFileBytes: crud.max_file_size_bytes,
      maxSyncBytes: crud.sync_io_max_bytes,
      durability: crud.durability,
      hardlinks: crud.hardlinks,
      protectedPaths: crud.protected
    })
    app.decorate('files', files)
    app.decorate('bases', createBases({ maxBytes: crud.base_cache_bytes }))
    app.decorate('history', createHistory({ maxFiles: crud.max_history_files, maxVersions: crud.max_file_versions }))
    const sweep = new AbortController()
    app.decorate('sweepLeftovers', () => {
      sweepLeftovers(files.roots, sweep.signal).then(
        (removed) => removed > 0 && app.log.info({ removed }, 'removed temporary files of a process that is gone'),
        (error: unknown) => app.log.warn({ err: error }, 'could not look for leftover temporary files')
      )
    })
    app.addHook('onClose', async () => {
      sweep.abort()
      files.close()
    })
  },
  { name: 'files' }
)
