// app.files, app.commits, app.bases, app.history, app.layers, app.settlement: the files below the roots, and their remembered versions.
import fp from 'fastify-plugin'
import { createBases, type Bases } from '../../src/engine/versions/bases.ts'
import { createHistory, type History } from '../../src/engine/versions/history.ts'
import { servedDirectory } from '../../src/tree/state/served-directory.ts'
import { createCommits, type Commits } from '../../src/engine/commit/commits.ts'
import { createFileStore, type FileStore } from '../../src/engine/files/file-store.ts'
import { createSettlement, type Settlement } from '../../src/tree/persistence/settlement.ts'
import { createLayers, type Layers } from '../../src/engine/layers/layers.ts'
import { findRepository } from '../../src/support/project/repository.ts'
import type { Config } from '../../src/config/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    files: FileStore
    commits: Commits
    bases: Bases
    history: History
    settlement: Settlement
    layers: Layers
  }
}

/** So many times `crud.max_file_versions` are remembered of a file that differs from HEAD, since landing needs them. */
const uncommittedFactor = 10
const hourMs = 3_600_000
const dayMs = 24 * hourMs

export default fp<{ config: Config }>(
  async (app, { config: { crud, tree } }) => {
    const maxAgeMs = crud.max_history_age_days === 0 ? Infinity : crud.max_history_age_days * dayMs
    const bases = createBases({ maxBytes: crud.base_cache_bytes })
    const onUnfinished = app.degradations.several('transaction')
    const files = createFileStore({
      roots: crud.base_directories,
      knownAs: tree.known_as,
      maxFileBytes: crud.max_file_size_bytes,
      maxSyncBytes: crud.sync_io_max_bytes,
      hardlinks: crud.hardlinks,
      protectedPaths: crud.protected,
      isKnown: (path): boolean => history.last(path) !== undefined
    })
    const isInGit = files.roots.some(({ real }) => findRepository(real) !== undefined)
    const history = createHistory({
      maxFiles: crud.max_history_files,
      maxVersions: crud.max_file_versions,
      maxUncommitted: crud.max_file_versions * (isInGit ? uncommittedFactor : 1),
      maxBytes: crud.max_history_bytes,
      maxAgeMs
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
    app.decorate('bases', bases)
    const layers = createLayers(files.roots, servedDirectory)
    app.decorate('layers', layers)
    const age = () => {
      history.expire()
      if (app.tree.role() === 'authority') void layers.sweep()
    }
    const aging = setInterval(age, Math.max(1000, Math.min(maxAgeMs / 24, hourMs))).unref()
    const settlement = createSettlement({
      files,
      commits,
      bases,
      history,
      log: app.log,
      onUnfinished,
      isAuthority: () => app.tree.role() === 'authority'
    })
    app.decorate('settlement', settlement)
    app.addHook('onClose', async () => {
      clearInterval(aging)
      settlement.close()
      commits.close()
      files.close()
    })
  },
  { name: 'files', dependencies: ['degradations'] }
)
