// When a process that takes the tree over begins to answer the calls of relays.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { AuthorityServer } from '../../../src/tree/authority/authority-server.ts'
import { createMembership } from '../../../src/tree/authority/membership.ts'
import type { EngineLink } from '../../../src/engine/call/engine-link.ts'
import type { Coordinator } from '../../../src/tree/coordinator/coordinator.ts'
import { withResolvers } from '../../../src/support/with-resolvers.ts'

t.test(
  'a call that comes at the first moment of the address waits until what earlier authorities left is read',
  async (t) => {
    const steps: string[] = []
    const listening = withResolvers<void>()
    const reading = withResolvers<void>()
    const point = { close() {}, isInPlace: () => true }
    const coordinator = {
      campaign: async () => true,
      isInPlace: () => true,
      openPoint: () => point,
      resign: async () => {},
      members: { join() {}, leave() {}, remove() {}, isMember: () => true, isAlone: () => false }
    } as unknown as Coordinator
    // An address on several hosts is open before etcd has published it.
    const server = { listen: () => listening.promise, stopListening() {}, close() {} } as unknown as AuthorityServer
    const membership = createMembership({
      coordinator,
      engine: {} as EngineLink,
      server,
      spellings: ['/'],
      hello: () => ({ type: 'hello' }) as never,
      timeoutMs: () => 60_000,
      async openState() {
        await reading.promise
        steps.push('read')
      },
      onAuthority: () => steps.push('authority'),
      onRelay() {},
      onWatch() {},
      onTrouble() {},
      onDisplaced() {}
    })
    const joined = membership.link()
    await nextTurn()
    const call = membership.ensureHold().then(() => steps.push('call'))
    await nextTurn()
    listening.resolve()
    await nextTurn()
    reading.resolve()
    await Promise.all([joined, call])
    t.strictSame(steps, ['read', 'authority', 'call'])
    await membership.leave()
  }
)
