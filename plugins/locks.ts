// app.locks: the one lock table of this process.
import fp from 'fastify-plugin'
import { createLockManager, type LockManager } from '../src/locks/lock-manager.ts'
import type { Config } from '../src/config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    locks: LockManager
  }
}

export default fp<{ config: Config }>(
  async (app, { config }) => {
    const { max_waiters_per_path, max_waiters_per_agent } = config.locks
    const limits = { maxWaitersPerKey: max_waiters_per_path, maxWaitersPerAgent: max_waiters_per_agent }
    app.decorate('locks', createLockManager({ limits }))
  },
  { name: 'locks' }
)
