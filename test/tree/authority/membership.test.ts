// When a process that takes the tree over begins to answer the calls of relays.
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createAuthorityServer, type AuthorityServer } from '../../../src/tree/authority/authority-server.ts'
import { createMembership } from '../../../src/tree/authority/membership.ts'
import type { EngineLink } from '../../../src/engine/call/engine-link.ts'
import type { Coordinator } from '../../../src/tree/coordinator/coordinator.ts'
import type { MeetingPoint } from '../../../src/tree/coordinator/meeting-point.ts'
import { withResolvers } from '../../../src/support/with-resolvers.ts'

const members = { join() {}, leave() {}, remove() {}, isMember: () => true, isAlone: () => false }
/** Of a membership of which only the rest matters. */
const common = {
  engine: {} as EngineLink,
  spellings: ['/'] as const,
  hello: () => ({ type: 'hello' }) as never,
  timeoutMs: () => 60_000,
  onRelay() {},
  onWatch() {},
  onTrouble() {},
  onDisplaced() {}
}

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
      members
    } as unknown as Coordinator
    // An address on several hosts is open before etcd has published it.
    const server = { listen: () => listening.promise, stopListening() {}, close() {} } as unknown as AuthorityServer
    const membership = createMembership({
      ...common,
      coordinator,
      server,
      async openState() {
        await reading.promise
        steps.push('read')
      },
      onAuthority: () => steps.push('authority')
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

t.test('an attempt to join is given up once the lease of the authority has ended', async (t) => {
  const steps: string[] = []
  let authority: string | undefined
  const coordinator = {
    async campaign() {
      const isFree = steps.filter((step) => step === 'campaign').length === 3
      steps.push('campaign')
      authority = 'a host that is cut off'
      return isFree
    },
    async look() {
      steps.push('look')
      authority = undefined
    },
    facts: () => ({ authority }),
    isInPlace: () => true,
    isLeased: true,
    openPoint: () => ({ close() {}, isInPlace: () => true, targets: [connect] }),
    resign: async () => {},
    members
  } as unknown as Coordinator
  const connect = (signal: AbortSignal) =>
    new Promise((_, reject) => {
      steps.push('connect')
      signal.addEventListener('abort', () => {
        steps.push('given up')
        reject(signal.reason as Error)
      })
    })
  const membership = createMembership({
    ...common,
    coordinator,
    server: { listen: async () => {}, stopListening() {}, close() {} } as unknown as AuthorityServer,
    openState: async () => {},
    onAuthority: () => steps.push('authority')
  })
  await membership.link()
  const attempt = ['campaign', 'connect', 'look', 'given up']
  t.strictSame(steps, [...attempt, ...attempt, ...attempt, 'campaign', 'authority'])
  await membership.leave()
})

t.test('an address that was left while it was opened is closed', async (t) => {
  const options = { receipts: { lineage: undefined, onLineage() {} }, onError() {} }
  const server = createAuthorityServer(options as unknown as Parameters<typeof createAuthorityServer>[0])
  const opened = withResolvers<Server>()
  const listening = server.listen({ serve: () => opened.promise } as unknown as MeetingPoint)
  server.stopListening()
  const own = createServer().listen(0, '127.0.0.1')
  t.teardown(() => own.close())
  await once(own, 'listening')
  opened.resolve(own)
  await listening
  t.notOk(own.listening)
})
