// What agents write through the server is never taken for a change from outside, however fast they write.
import t from 'tap'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { makeScene } from './fixtures/scene.ts'

const files = ['a/f', 'a/g', 'b/f', 'b/g']
const agents = 8
const rounds = lengthOf({ full: 8, short: 3 })

const cases = [
  { how: 'read at once', crud: {} },
  { how: 'read while others write', crud: { sync_io_max_bytes: 0 } }
]

for (const { how, crud } of cases) {
  t.test(`of many agents that write at once, no change is taken for one from outside: ${how}`, async (t) => {
    const initial = Object.fromEntries(files.map((path) => [path, '0\n']))
    const { tree, server, until } = await makeScene(
      t,
      { ...initial, sentinel: '' },
      { debounce_ms: 1, rescan_seconds: 0.02, bulk_files: 1 },
      crud
    )
    const clients = await Promise.all(
      Array.from({ length: agents }, (_, index) => connect(t, 'rest', server.url, `agent-${index}`))
    )
    await Promise.all(clients.map((client, index) => work(client, index)))
    // Whatever was to be looked at before this one has been looked at with it.
    await clients[0]?.call('async_read', { path: 'sentinel' })
    const noticed = until(({ path }) => path === tree.path('sentinel'))
    tree.write('sentinel', 'changed\n')
    await noticed
    for (const path of server.app.history.paths()) {
      const made = server.app.history.versions(path).filter(({ isFirstSight }) => !isFirstSight)
      const strangers = made.filter(({ agentId }) => agentId === 'external')
      t.equal(strangers.length, path === tree.path('sentinel') ? 1 : 0, path)
    }
    for (const path of files) t.equal(server.app.history.known(tree.path(path))?.hash, hashOf(tree.bytes(path)))
  })
}

async function work(client: TestClient, index: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const path = files[(index + round) % files.length] as string
    const own = `own-${index}/${round % 3}`
    await client.call('async_append', { path, content: `${index}.${round}\n` })
    await client.call('async_write', { path: own, content: `${round}\n` })
    await client.call('async_rename', { old_path: own, new_path: `${own}.moved`, overwrite: true })
    await client.call('async_delete', { path: `${own}.moved` })
    await updateOnce(client, path, `${index}:${round}\n`)
  }
}

async function updateOnce(client: TestClient, path: string, content: string): Promise<void> {
  let expected = (await client.call('async_read', { path }))['hash'] as string
  for (;;) {
    const answer: Answer = await client.call('async_update', { path, expected_hash: expected, content })
    if (answer['status'] !== 'contention') return
    expected = answer['current_hash'] as string
  }
}
