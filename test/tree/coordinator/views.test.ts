// A host that does not see at once what another one has changed on the volume takes no part, and says how to mount it.
import t, { type Test } from 'tap'
import { healthOf, post } from '../../fixtures/processes.ts'
import type { RunningProgram } from '../../fixtures/server.ts'
import { untilWithin } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { roleOf } from './fixtures/writers.ts'
import { makeVolumeOnGluster, whyNotOnGluster } from './fixtures/volumes.ts'

const append = (url: string) => post(url, 'async_append', { path: 'a.txt', content: 'line\n' })

const skip = lacksEtcd || whyNotOnGluster()

type Volume = Partial<Parameters<typeof makeVolumeOnGluster>[1]>

async function startFirst(t: Test, volume: Volume) {
  const etcd = await startEtcd(t)
  const { mounts } = await makeVolumeOnGluster(t, { files: { 'a.txt': '' }, clients: [{}, {}], ...volume })
  const first = await startHost(t, { etcd, ...mounts[0]! })
  t.match(await append(first.url), { status: 'ok' })
  return { first, startSecond: () => startHost(t, { etcd, ...mounts[1]! }) }
}

const keeping: Record<string, readonly [Volume, RegExp]> = {
  'GlusterFS as it is mounted by default': [{ keepsLooks: true }, /entry-timeout=0/],
  'GlusterFS whose clients keep looks': [{ settings: { 'performance.stat-prefetch': 'on' } }, /stat-prefetch off/]
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

for (const [name, [volume, advice]] of Object.entries(keeping))
  t.test(name, { skip }, async (t) => {
    const { first, startSecond } = await startFirst(t, volume)
    const { process, stderr } = await untilRefused(startSecond)
    t.equal(process.exitCode, 1)
    t.match(stderr.join('\n'), /several hosts cannot serve .*does not see at once/)
    t.match(stderr.join('\n'), advice)
    t.match(await append(first.url), { status: 'ok' }, 'the host that serves the tree goes on')
  })

t.test('GlusterFS whose clients keep nothing is served by both', { skip }, async (t) => {
  const { first, startSecond } = await startFirst(t, {})
  const second = await startSecond()
  t.match(await append(second.url), { status: 'ok' })
  t.equal((await healthOf(second.url))['role'], 'relay')
  t.match(await post(first.url, 'async_read', { path: 'a.txt' }), { content: 'line\nline\n' })
})
