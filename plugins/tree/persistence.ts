// app.persistence: keeps the engine's state for the next process that is the authority of the tree.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { paths } from '../../src/support/user-paths.ts'
import { createPersistence, type Persistence } from '../../src/tree/persistence/persistence.ts'

declare module 'fastify' {
  interface FastifyInstance {
    persistence: Persistence
  }
}

interface Options {
  readonly config: Config
  /** True if no setting says whether anything is to be kept. */
  readonly followsOthers: boolean
}

export default fp<Options>(
  async (app, { config, followsOthers }) => {
    const persistence = createPersistence({
      settings: config.persistence,
      placeGraceMs: config.locks.reconnect_grace_seconds * 1000,
      followsOthers,
      dataFolder: paths.dataFolder,
      files: app.files,
      commits: app.commits,
      bases: app.bases,
      history: app.history,
      locks: app.locks,
      lostLeases: app.lostLeases,
      tickets: app.tickets,
      reads: app.reads,
      receipts: app.receipts,
      log: app.log,
      onTrouble: (about, message) => app.degradations.set(`persistence: ${about}`, message)
    })
    app.decorate('persistence', {
      ...persistence,
      async open(isContinued, epoch) {
        await persistence.open(isContinued, epoch)
        app.serverFacts.persistence = persistence.isEnabled() ? 'enabled' : 'disabled'
      }
    })
  },
  { name: 'persistence', dependencies: ['degradations', 'files', 'locks', 'engine'] }
)
