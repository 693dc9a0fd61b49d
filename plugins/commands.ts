// app.commands: the shell commands that harnesses have reported, and what they change.
import fp from 'fastify-plugin'
import { createCommands, type Commands } from '../src/engine/commands/commands.ts'
import { createTreeChanges } from '../src/engine/commands/tree-changes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    commands: Commands
  }
}

export default fp(
  async (app) => {
    const { locks, files, bases, history, log } = app
    const treeChanges = createTreeChanges({ roots: files.roots.map(({ real }) => real), log })
    const commands = createCommands({ locks, files, bases, history, log, treeChanges })
    app.decorate('commands', commands)
    app.addHook('onClose', async () => commands.close())
  },
  { name: 'commands', dependencies: ['files', 'locks'] }
)
