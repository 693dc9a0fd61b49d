// app.locks: the one lock table of this process, and the records of its leases.
import fp from 'fastify-plugin'
import { createLockManager, type LockManager } from '../../src/engine/locks/lock-manager.ts'
import type { Config } from '../../src/config/config.ts'
import { createFencingTokens } from '../../src/tree/state/fencing-tokens.ts'
import { servedDirectory } from '../../src/tree/state/served-directory.ts'
import { createLostLeases, type LostLeases } from '../../src/engine/leases/lost-leases.ts'
import { createTickets, type Tickets } from '../../src/engine/leases/tickets.ts'

declare module 'fastify' {
  interface FastifyInstance {
    locks: LockManager
    lostLeases: LostLeases
    tickets: Tickets
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { locks: settings } }) => {
    const lostLeases = createLostLeases(settings.remember_lost_leases_seconds * 1000)
    const [root] = app.files.roots
    const onWarning = (message: string) => app.log.warn(message)
    const locks = createLockManager({
      tokens: root && createFencingTokens(servedDirectory(root), { onWarning }),
      limits: {
        maxWaitersPerKey: settings.max_waiters_per_path,
        maxWaitersPerAgent: settings.max_waiters_per_agent,
        maxLeasesPerAgent: settings.max_leases_per_agent,
        maxLeases: settings.max_leases
      },
      leasesBindOperations: settings.enforcement !== 'off',
      onLeaseEnd(lease, end) {
        app.counts.leasesLost[end.cause] += 1
        // A parked lease: its holder never heard of the grant.
        if (!lease.isParked) lostLeases.record(lease, end)
        app.log.debug({ path: lease.path, agent_id: lease.agentId, cause: end.cause }, 'lease ended')
      }
    })
    app.decorate('locks', locks)
    app.decorate('lostLeases', lostLeases)
    app.decorate('tickets', createTickets())
  },
  { name: 'locks', dependencies: ['files', 'counts'] }
)
