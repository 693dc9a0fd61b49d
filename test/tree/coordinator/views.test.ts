// A host that does not see at once what another one has changed on the volume takes no part, and says how to mount it.
import t, { type Test } from 'tap'
import { healthOf, post } from '../../fixtures/processes.ts'
import type { RunningProgram } from '../../fixtures/server.ts'
import { untilWithin } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { roleOf } from './fixtures/writers.ts'
import { makeVolumeOf, whyNotOn, type KindName } from './fixtures/volumes.ts'

const append = (url: string) => post(url, 'async_append', { path: 'a.txt', content: 'line\n' })

type Volume = Partial<Parameters<typeof makeVolumeOf>[2]>

async function startFirst(t: Test, kind: KindName, volume: Volume) {
  const etcd = await startEtcd(t)
  const { mounts } = await makeVolumeOf(kind, t, { files: { 'a.txt': '' }, clients: [{}, {}], ...volume })
  const first = await startHost(t, { etcd, ...mounts[0]! })
  t.match(await append(first.url), { status: 'ok' })
  return { first, startSecond: () => startHost(t, { etcd, ...mounts[1]! }) }
}

const keeping: Record<string, readonly [KindName, Volume, RegExp]> = {
  'SSHFS as it is mounted by default': ['sshfs', { keepsLooks: true }, /dir_cache=no/],
  'NFS as it is mounted by default': ['nfs', { keepsLooks: true }, /lookupcache=none/],
  'GlusterFS as it is mounted by default': ['gluster', { keepsLooks: true }, /entry-timeout=0/],
  'GlusterFS whose clients keep looks': [
    'gluster',
    { settings: { 'performance.stat-prefetch': 'on' } },
    /stat-prefetch off/
  ]
}

/** A volume that is slow at the moment of the look shows nothing, and the host joins: then another one looks. */
async function untilRefused(start: () => Promise<RunningProgram>, tries = 5): Promise<RunningProgram> {
  const program = await start()
  let role = ''
  await untilWithin(60, 'the host joins or ends', async () => {
    role = await roleOf({ program })
    return program.process.exitCode !== null || role === 'relay'
  })
  if (role !== 'relay') return program
  if (tries === 1) throw new Error('each host joins')
  await program.stop('SIGKILL')
  return untilRefused(start, tries - 1)
}

for (const [name, [kind, volume, advice]] of Object.entries(keeping))
  t.test(name, { skip: lacksEtcd || whyNotOn(kind) }, async (t) => {
    const { first, startSecond } = await startFirst(t, kind, volume)
    const { process, stderr } = await untilRefused(startSecond)
    t.equal(process.exitCode, 1)
    t.match(stderr.join('\n'), /several hosts cannot serve .*does not see at once/)
    t.match(stderr.join('\n'), advice)
    t.match(await append(first.url), { status: 'ok' }, 'the host that serves the tree goes on')
  })

for (const kind of ['gluster', 'nfs', 'sshfs'] as const)
  t.test(`${kind} whose clients keep nothing is served by both`, { skip: lacksEtcd || whyNotOn(kind) }, async (t) => {
    const { first, startSecond } = await startFirst(t, kind, {})
    const second = await startSecond()
    t.match(await append(second.url), { status: 'ok' })
    t.equal((await healthOf(second.url))['role'], 'relay')
    t.match(await post(first.url, 'async_read', { path: 'a.txt' }), { content: 'line\nline\n' })
  })
