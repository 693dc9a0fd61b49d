// app.commands: the shell commands that harnesses have reported, and what they change.
import fp from 'fastify-plugin'
import { createLookAtFolders } from '../../src/engine/commands/arrival.ts'
import { createCommands, type Commands } from '../../src/engine/commands/commands.ts'
import { createFirstSights, type FirstSights } from '../../src/engine/commands/first-sights.ts'
import { createFileClock } from '../../src/engine/commands/file-clock.ts'
import { keepBoundsOf } from '../../src/engine/commands/keep-unsaved.ts'
import { inspectFile } from '../../src/engine/watcher/inspect-file.ts'
import { lookAgain } from '../../src/engine/watcher/look-again.ts'
import { createTreeChanges } from '../../src/engine/commands/tree-changes.ts'
import { servedDirectory } from '../../src/tree/state/served-directory.ts'

declare module 'fastify' {
  interface FastifyInstance {
    commands: Commands
    firstSights: FirstSights
  }
}

export default fp(
  async (app) => {
    const { locks, files, bases, history, log } = app
    const roots = files.roots.map(({ real }) => real)
    const lookAtFolders = createLookAtFolders(roots)
    const treeChanges = createTreeChanges({ roots, lookAtFolders, log })
    const keepBounds = () => keepBoundsOf(app.settings.current)
    const lookMs = () => app.settings.current.hooks.look_ms
    const parts = { locks, files, bases, history }
    const clock = createFileClock(files.roots, servedDirectory)
    const closing = new AbortController()
    const lookAtUsed = () => lookAgain(parts, app.settings.current.watcher.bulk_files, closing.signal)
    const commands = createCommands({
      ...parts,
      clock,
      lookAtFolders,
      log,
      treeChanges,
      keepBounds,
      lookMs,
      lookAtUsed
    })
    const firstSights = createFirstSights({
      roots,
      parts,
      bounds: keepBounds,
      isWatched: (path) => app.settings.current.watcher.enabled && inspectFile(path, history) === 'different',
      log
    })
    app.decorate('commands', commands)
    app.decorate('firstSights', firstSights)
    app.addHook('preClose', async () => {
      closing.abort()
      firstSights.end()
    })
    app.addHook('onClose', async () => commands.close())
  },
  { name: 'commands', dependencies: ['settings', 'files', 'locks'] }
)
