// Memory is given back once nothing happens any more: after the start, and after each time of work.
import t from 'tap'
import { post } from '../fixtures/processes.ts'
import { programPath, startProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

/** Loaded by a program, says each collection that was asked for. What V8 itself prints stays in its buffer on Windows. */
const observer = `data:text/javascript,${encodeURIComponent(`
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  const isForced = ({ detail }) => (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0
  const tell = (list) => list.getEntries().filter(isForced).forEach(() => console.log('collected'))
  new PerformanceObserver(tell).observe({ entryTypes: ['gc'] })`)}`

t.test('a server collects after its start, and again after a call', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const env = { ASYNC_CRUD_MCP_DAEMON__IDLE_COLLECT_SECONDS: '0.05' }
  const { url, stdout } = await startProgram(t, ['--dir', tree.root], env, ['--import', observer, programPath])
  const collections = () => stdout.filter((line) => line === 'collected').length
  await until(() => collections() === 1)
  await post(url, 'async_read', { path: 'f' })
  await until(() => collections() === 2)
})
