// Memory is given back once nothing happens any more: after the start, and after each time of work.
import t from 'tap'
import { post } from '../fixtures/processes.ts'
import { programPath, startProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

t.test('a server collects after its start, and again after a call', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const env = { ASYNC_CRUD_MCP_DAEMON__IDLE_COLLECT_SECONDS: '0.05' }
  const { url, stdout } = await startProgram(t, ['--dir', tree.root], env, ['--trace-gc', programPath])
  /** V8 calls a collection that was asked for `testing`. */
  const collections = () => stdout.filter((line) => /Mark-Compact.*testing/.test(line)).length
  await until(() => collections() === 1)
  await post(url, 'async_read', { path: 'f' })
  await until(() => collections() === 2)
})
