// A call that waits for leases ends before the process that serves the tree hears of that: its places end with it.
import t, { type Test } from 'tap'
import { call, cannotStop, stopProcess, untilDepthOf } from '../../fixtures/processes.ts'
import { startStdio, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(300_000)

/** So long that no test sees its end. */
const graceSeconds = '600'
const only = (agent: string, ...filepaths: string[]) => ({ filepaths, agent_id: agent })

function windowOn(t: Test, tree: Tree, environment: Record<string, string> = {}): StdioProgram {
  return startStdio(t, ['--transport', 'stdio', '--dir', tree.root, '--log-level', 'info'], {
    environment: { ASYNC_CRUD_MCP_LOCKS__RECONNECT_GRACE_SECONDS: graceSeconds, ...environment }
  })
}

/** Resolves once the process has read and done all that was sent to it before. */
async function untilRead(program: StdioProgram): Promise<void> {
  for (let count = 0; count < 2; count += 1) await program.call('get_server_info')
}

async function cancel(program: StdioProgram, ...ids: readonly string[]): Promise<void> {
  for (const requestId of ids)
    program.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  await untilRead(program)
}

/** Of the window that relays, and is asked by its client. */
function send(program: StdioProgram, id: string, method: string, params: object): void {
  program.send({ jsonrpc: '2.0', id, method, params })
}

async function untilAuthority(program: StdioProgram): Promise<void> {
  await until(() => program.stderr.some((line) => line.includes('"authority of the tree"')))
}

t.test('a call that is cancelled before it has begun leaves no place and no lease', { skip: cannotStop }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n' })
  const environment = { ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: '0.1' }
  const [first, second] = [windowOn(t, tree, environment), windowOn(t, tree, environment)]
  await call(first, 'lock_try', only('ann', 'a.txt'))
  const { ticket } = await call(second, 'lock_wait', { ...only('bob', 'a.txt'), timeout_seconds: 20 })
  t.type(ticket, 'string')
  await stopProcess(first.process)
  send(second, 'wait', 'lock_wait', { ticket, agent_id: 'bob' })
  send(second, 'try', 'lock_try', only('bob', 'b.txt'))
  await untilRead(second)
  await cancel(second, 'wait', 'try')
  first.process.kill('SIGCONT')
  for (const id of ['wait', 'try'])
    t.match(await second.answer(id), { error: { data: { error_code: 'CANCELLED' } } }, id)
  await call(first, 'lock_release', only('ann', 'a.txt'))
  t.match(await call(first, 'lock_try', only('carl', 'a.txt', 'b.txt')), { all_acquired: true })
})

t.test(
  'a wait that its client cancels while no process serves the tree ends, and no earlier lease of its agent',
  { skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n' })
    const [first, second, third] = [windowOn(t, tree), windowOn(t, tree), windowOn(t, tree)]
    await call(first, 'async_read', { path: 'a.txt' })
    await call(third, 'lock_try', only('ann', 'a.txt'))
    await call(second, 'lock_try', only('bob', 'b.txt'))
    send(second, 'wait', 'lock_wait', { ...only('bob', 'a.txt', 'b.txt'), timeout_seconds: 20 })
    await untilDepthOf(third, 'a.txt', 1)
    await stopProcess(second.process)
    await first.end('SIGKILL')
    await untilAuthority(third)
    await stopProcess(third.process)
    second.process.kill('SIGCONT')
    await cancel(second, 'wait')
    third.process.kill('SIGCONT')
    // What the lost process has done is not known.
    t.match(await second.answer('wait'), { error: { data: { error_code: 'AUTHORITY_LOST' } } })
    await untilDepthOf(third, 'a.txt', 0)
    t.match(await call(second, 'lock_status', only('bob', 'b.txt')), { results: [{ held_by_me: true }] })
    await call(third, 'lock_release', only('ann', 'a.txt'))
    t.match(await call(third, 'lock_try', only('carl', 'a.txt')), { all_acquired: true })
  }
)

t.test('the places of a window that is killed with the authority end at once', { skip: cannotStop }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const [first, second, third] = [windowOn(t, tree), windowOn(t, tree), windowOn(t, tree)]
  await call(first, 'async_read', { path: 'a.txt' })
  await call(third, 'lock_try', only('ann', 'a.txt'))
  send(second, 'wait', 'lock_wait', { ...only('bob', 'a.txt'), timeout_seconds: 20 })
  await untilDepthOf(third, 'a.txt', 1)
  // It must not learn of the end of the window.
  await stopProcess(first.process)
  await second.end('SIGKILL')
  await first.end('SIGKILL')
  t.match(await call(third, 'async_status', { path: 'a.txt' }), { queue_depth: 0 })
  await call(third, 'lock_release', only('ann', 'a.txt'))
  t.match(await call(third, 'lock_try', only('carl', 'a.txt')), { all_acquired: true })
})

t.test('a wait for an exclusive lease by an agent that shares the file goes on in the next process', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const [first, second, third] = [windowOn(t, tree), windowOn(t, tree), windowOn(t, tree)]
  await call(first, 'async_read', { path: 'a.txt' })
  await call(third, 'lock_try', { ...only('carl', 'a.txt'), mode: 'shared' })
  await call(second, 'lock_try', { ...only('bob', 'a.txt'), mode: 'shared' })
  const waited = call(second, 'lock_wait', { ...only('bob', 'a.txt'), timeout_seconds: 20 })
  await untilDepthOf(third, 'a.txt', 1)
  await first.end('SIGKILL')
  await untilDepthOf(third, 'a.txt', 1)
  await call(third, 'lock_release', only('carl', 'a.txt'))
  t.match(await waited, { all_acquired: true, results: [{ mode: 'exclusive' }] })
})
