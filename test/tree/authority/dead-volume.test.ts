// A file system that dies under a server: calls are answered, nothing ends, and the same folder mounted anew asks for a new start.
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { healthOf, own, post } from '../../fixtures/processes.ts'
import { startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksBindfs, mountVolume } from '../../fixtures/volume-that-dies.ts'

const skip = lacksBindfs || skipOnHosts.ownFiles
/** The file system dies before the last changes of the state are synced. */
const debounceSeconds = 2
/** That, and longer than the server takes to look again at what it has lost. */
const watchedMs = debounceSeconds * 1000 + 4000
const calls = [
  ['async_read', { path: 'f' }],
  ['async_append', { path: 'f', content: 'lost' }],
  ['async_list', { path: '.' }],
  ['lock_try', { filepaths: ['g'] }]
] as const

for (const enabled of [false, true]) {
  t.test(`a server outlives its file system (persistence.enabled: ${enabled})`, { skip }, async (t) => {
    const behind = makeTree(t, { f: 'one' })
    const volume = await mountVolume(t, behind)
    const settings = {
      ASYNC_CRUD_MCP_PERSISTENCE__WRITE_DEBOUNCE_SECONDS: String(debounceSeconds),
      ...(enabled && {
        ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true',
        ASYNC_CRUD_MCP_PERSISTENCE__STATE_FILE: volume.tree.path(`${own}/kept/state`)
      })
    }
    const program = await startProgram(t, ['--dir', volume.tree.root], settings)
    const append = { path: 'f', content: '!', agent_id: 'bob', timeout: 0 }
    t.match(await post(program.url, 'async_append', append), { status: 'ok' })
    t.match(await post(program.url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }), { all_acquired: true })
    await volume.die()
    const end = performance.now() + watchedMs
    while (performance.now() < end) {
      for (const [operation, input] of calls) {
        const answer = await post(program.url, operation, { agent_id: 'ann', ...input })
        t.match(
          answer,
          { error_code: 'READ_ERROR', message: /ENOTCONN.*Try again.*whether it still is mounted/ },
          operation
        )
      }
      await delay(200)
    }
    await until(async () => messageOf((await healthOf(program.url))['degraded'], 'persistence: journal') !== undefined)
    const { status, degraded } = await healthOf(program.url)
    t.equal(status, 'degraded')
    t.match(messageOf(degraded, 'roots'), /ENOTCONN.*whether it still is mounted/)
    t.match(messageOf(degraded, 'persistence: journal'), /cannot be written.*its disk does not answer/)
    await volume.mountAgain()
    t.match(await post(program.url, 'async_append', append), {
      error_code: 'DIR_NOT_FOUND',
      message: /to serve what is there now, start the server again/
    })
    t.strictSame(await program.stop(), { code: 0, signal: null })
    const next = await startProgram(t, ['--dir', volume.tree.root], settings)
    t.match(await post(next.url, 'async_append', append), { status: enabled ? 'error' : 'ok' }, 'a kept lease goes on')
    t.match(await post(next.url, 'async_append', { ...append, agent_id: 'ann' }), { status: 'ok' })
  })
}

function messageOf(degraded: unknown, name: string): string | undefined {
  return (degraded as { part: string; message: string }[] | undefined)?.find(({ part }) => part === name)?.message
}
