// Both coordinators behave alike: one authority at a time, which the others reach, and whose place is free once it has left.
import { spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createStages } from '../../../src/engine/commit/stages.ts'
import type { Coordinator } from '../../../src/tree/coordinator/coordinator.ts'
import type { EtcdClient } from '../../../src/tree/coordinator/etcd-client.ts'
import { createEtcdCoordinator } from '../../../src/tree/coordinator/etcd.ts'
import { createHostLink, type HostLinkSettings } from '../../../src/tree/coordinator/host-link.ts'
import { createLocalCoordinator } from '../../../src/tree/coordinator/local.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { rootOf } from '../../fixtures/root-of.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { clientOf, lacksEtcd, startEtcd, type Etcd } from './fixtures/etcd.ts'

const secret: HostLinkSettings = { secret: 'a secret of the tree', ca: null, cert: null, key: null }
const lacksOpenssl = spawnSync('openssl', ['version']).status !== 0 && 'needs openssl, to make certificates'

/** @returns makes a further process of the tree */
type World = (t: Test, tree: Tree) => Promise<() => Coordinator>

function etcdWorld(
  etcd: Promise<Etcd>,
  settingsOf: (t: Test) => HostLinkSettings,
  changed = (client: EtcdClient): EtcdClient => client
): World {
  return async (t, { root }) => {
    const { endpoints } = await etcd
    const settings = settingsOf(t)
    return () =>
      createEtcdCoordinator({
        client: changed(clientOf(endpoints)),
        createLink: (tree) => createHostLink(settings, tree),
        stages: createStages([rootOf(root)], (own) => servedDirectory(own).hold()),
        roots: [rootOf(root)],
        prefix: '/test',
        ttlSeconds: 2,
        advertise: { host: '127.0.0.1', port: 0 },
        onTrouble: () => {}
      })
  }
}

function suite(name: string, world: World, skip: string | false): void {
  t.test(`one process is the authority, and leaves its place to the next (${name})`, { skip }, async (t) => {
    const join = await world(t, makeTree(t))
    const [one, other] = [join(), join()]
    t.equal(await one.campaign(), true)
    t.equal(one.isInPlace(), true)
    t.equal(await one.campaign(), true, 'what is won is kept')
    t.equal(await other.campaign(), false)
    t.equal(other.isInPlace(), false)
    t.equal(other.leader(), process.pid)
    const epoch = one.epoch()
    await one.resign()
    t.equal(one.isInPlace(), false)
    t.equal(await other.campaign(), true)
    t.equal(await one.campaign(), false)
    if (epoch !== undefined) t.ok(Number(other.epoch()) > epoch, 'the epoch grows')
    await other.resign()
    await other.resign()
  })

  t.test(`of many that campaign at once, one wins (${name})`, { skip }, async (t) => {
    const join = await world(t, makeTree(t))
    const all = Array.from({ length: 8 }, join)
    const won = await Promise.all(all.map(async (coordinator) => coordinator.campaign()))
    t.equal(won.filter(Boolean).length, 1, won.join())
    t.equal(all.filter((coordinator) => coordinator.isInPlace()).length, 1)
    for (const coordinator of all) await coordinator.resign()
  })

  t.test(`the others reach the authority (${name})`, { skip }, async (t) => {
    const join = await world(t, makeTree(t))
    const [one, other] = [join(), join()]
    await one.campaign()
    const point = one.openPoint()
    const server = await point.serve((socket) => socket.pipe(socket))
    t.equal(point.isInPlace(), true)
    await other.campaign()
    const socket = await connectTo(other)
    socket.write('hello')
    t.equal(String((await once(socket, 'data'))[0]), 'hello')
    socket.destroy()
    server.close()
    point.close()
    await one.resign()
  })
}

async function connectTo(coordinator: Coordinator): Promise<Socket> {
  const [connect] = coordinator.openPoint().targets
  if (connect === undefined) throw new Error('no authority is known')
  return connect(new AbortController().signal)
}

const etcd = lacksEtcd === false ? startEtcd(t) : new Promise<never>(() => {})

suite(
  'local',
  async (_, { root }) =>
    () =>
      createLocalCoordinator([rootOf(root)]),
  false
)
suite(
  'etcd, with a secret',
  etcdWorld(etcd, () => secret),
  lacksEtcd
)
suite(
  'etcd, with certificates',
  etcdWorld(etcd, (t) => makeCertificates(t, 'host')),
  lacksEtcd || lacksOpenssl
)

t.test(
  'a host with another secret, or with a certificate of another authority, is not let in',
  { skip: lacksEtcd || lacksOpenssl },
  async (t) => {
    const tree = makeTree(t)
    for (const [own, strange] of [
      [secret, { ...secret, secret: 'another secret of 16' }],
      [makeCertificates(t, 'host'), makeCertificates(t, 'stranger')]
    ] as const) {
      const one = (await etcdWorld(etcd, () => own)(t, tree))()
      const other = (await etcdWorld(etcd, () => strange)(t, tree))()
      await one.campaign()
      const accepted: Socket[] = []
      const server = await one.openPoint().serve((socket) => accepted.push(socket))
      await other.campaign()
      await t.rejects(connectTo(other))
      t.equal(accepted.length, 0)
      server.close()
      await one.resign()
    }
  }
)

t.test(
  'a process is not in its place any more once its lease may have ended, and returns to it if no other was elected',
  { skip: lacksEtcd },
  async (t) => {
    const own = await startEtcd(t)
    const tree = makeTree(t)
    const join = await etcdWorld(Promise.resolve(own), () => secret)(t, tree)
    const one = join()
    await one.campaign()
    const [node] = own.nodes
    node?.kill('SIGSTOP')
    t.ok(Number(one.facts()?.leaseMs) <= 1800, 'a tenth before etcd gives the place away')
    await until(() => !one.isInPlace())
    const refusal = { code: 'OVERLOADED', message: /etcd does not answer/ }
    await t.rejects(Promise.resolve(one.campaign()), refusal)
    await t.rejects(
      one.openPoint().serve(() => {}),
      refusal
    )
    node?.kill('SIGCONT')
    await until(async () => {
      try {
        return await one.campaign()
      } catch {
        return false
      }
    })
    t.equal(one.isInPlace(), true)
    await one.resign()
  }
)

t.test(
  'a process whose lease has ended before it has the stage says that another one was elected',
  { skip: lacksEtcd },
  async (t) => {
    const tree = makeTree(t)
    const next = (await etcdWorld(etcd, () => secret)(t, tree))()
    const slow = (client: EtcdClient): EtcdClient => ({
      ...client,
      async elect(...key) {
        const held = await client.elect(...key)
        await until(() => next.campaign())
        return held
      }
    })
    const late = (await etcdWorld(etcd, () => secret, slow)(t, tree))()
    await t.rejects(Promise.resolve(late.campaign()), { code: 'OVERLOADED', message: /Another host was elected/ })
    t.equal(await late.campaign(), false, 'it can follow that one')
    await next.resign()
  }
)

t.test('a tree of several hosts and one of a single host exclude each other', { skip: lacksEtcd }, async (t) => {
  const tree = makeTree(t)
  const join = await etcdWorld(etcd, () => secret)(t, tree)
  const local = createLocalCoordinator([rootOf(tree.root)])
  await local.campaign()
  await t.rejects(Promise.resolve(join().campaign()), { message: /already served without --etcd/ })
  await local.resign()
  const host = join()
  t.equal(await host.campaign(), true)
  t.throws(() => local.campaign(), { message: /is a tree of several hosts: start this server with --etcd/ })
  await host.resign()
})

t.test('a stage is taken once for each epoch, and no older epoch gets it back', async (t) => {
  const tree = makeTree(t)
  const stages = () => createStages([rootOf(tree.root)], (own) => servedDirectory(own).hold())
  const [one, other] = [stages(), stages()]
  t.equal(one.take(4), 0)
  const staged = one.of(tree.path('a')).at('x')
  t.equal(other.take(7), 4)
  t.throws(() => one.take(5), { message: /is of epoch 7, which comes after 5/ })
  t.match(one.of(tree.path('a')).explain(errorOf(staged), 'a'), {
    code: 'OVERLOADED',
    message: /Another host has taken over/
  })
  t.equal(other.take(7), 7, 'what is taken is kept')
})

t.test('elections after which the stage could not be taken leave no folders there', async (t) => {
  const tree = makeTree(t)
  const stages = createStages([rootOf(tree.root)], (own) => servedDirectory(own).hold())
  stages.take(1)
  const stage = tree.path('.async-crud-mcp/stage')
  for (const left of [2, 3]) mkdirSync(`${stage}/1/of-${left}`)
  // No folder: it cannot be emptied.
  writeFileSync(`${stage}/1/of-4`, '')
  for (const epoch of [5, 6, 7]) t.throws(() => stages.take(epoch))
  t.strictSame(readdirSync(`${stage}/7`), ['of-4'])
  rmSync(`${stage}/7/of-4`)
  t.equal(stages.take(8), 7)
  t.strictSame(readdirSync(`${stage}/8`), ['of-8'])
})

t.test('a stage is taken though a file in it has its former name as well', async (t) => {
  const tree = makeTree(t)
  const stages = createStages([rootOf(tree.root)], (own) => servedDirectory(own).hold())
  stages.take(1)
  const stage = tree.path('.async-crud-mcp/stage')
  writeFileSync(`${stage}/1/of-1/x`, 'text')
  // As GlusterFS leaves it that puts right a folder of which not all servers were there when the file was renamed.
  mkdirSync(`${stage}/1/of-2`)
  linkSync(`${stage}/1/of-1/x`, `${stage}/1/of-2/x`)
  t.equal(stages.take(2), 1)
  t.strictSame(readdirSync(`${stage}/2`), ['of-2'])
  t.equal(readFileSync(stages.of(tree.root).at('x'), 'utf8'), 'text')
})

t.test('the next authority ends a rename that an earlier version had noted and that was cut off', async (t) => {
  const tree = makeTree(t, { 'from.txt': 'text', 'taken.txt': 'theirs', 'back.txt': 'own' })
  const stages = () => createStages([rootOf(tree.root)], (own) => servedDirectory(own).hold())
  const lost = stages()
  lost.take(1)
  const stage = lost.of(tree.root)
  for (const [item, from, to] of [
    ['one', 'from.txt', 'to.txt'],
    ['two', 'back.txt', 'taken.txt']
  ] as const) {
    writeFileSync(stage.at(`${item}.json`), JSON.stringify({ from, to, overwrite: false }))
    renameSync(tree.path(from), stage.at(item))
  }
  stages().take(2)
  t.strictSame(tree.all(), ['back.txt', 'taken.txt', 'to.txt'])
  t.equal(tree.read('to.txt'), 'text')
  t.equal(tree.read('taken.txt'), 'theirs', 'which another program has made meanwhile')
  t.equal(tree.read('back.txt'), 'own')
})

function errorOf(path: string): unknown {
  return Object.assign(new Error(path), { code: 'ENOENT' })
}

/** Of an authority of its own. */
function makeCertificates(t: Test, name: string): HostLinkSettings {
  const folder = makeTree(t, { 'san.cnf': 'subjectAltName=IP:127.0.0.1' })
  const run = (...args: string[]) => t.equal(spawnSync('openssl', args, { cwd: folder.root }).status, 0, 'openssl')
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  run(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    `/CN=authority of ${name}`
  )
  run('req', ...newKey, '-keyout', 'own.key', '-out', 'own.csr', '-subj', `/CN=${name}`)
  run(
    'x509',
    '-req',
    '-in',
    'own.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-out',
    'own.pem',
    '-days',
    '2',
    '-extfile',
    'san.cnf'
  )
  return { secret: '', ca: folder.path('ca.pem'), cert: folder.path('own.pem'), key: folder.path('own.key') }
}
