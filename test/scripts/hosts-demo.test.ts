// npm run hosts:demo -- --check: the authority is killed behind the balancer, and the next host goes on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { isFull } from '../fixtures/length.ts'
import { installed } from '../../src/support/installation.ts'
import { lacksBalancer } from '../tree/coordinator/fixtures/balancer.ts'
import { lacksEtcd } from '../tree/coordinator/fixtures/etcd.ts'
import { freePortsInARow } from '../fixtures/free-ports.ts'

const skip = lacksEtcd || lacksBalancer || (!isFull && 'takes many seconds: npm run test:full')

t.test('the demo of several hosts goes on after its authority was killed', { skip }, async (t) => {
  const child = spawn(process.execPath, [installed('scripts/hosts-demo.mjs'), '--check'], {
    env: { ...process.env, HOSTS_DEMO_PORT: String(await freePortsInARow(17)) },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGTERM'))
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  t.strictSame(await once(child, 'exit'), [0, null])
  t.match(printed, /was killed: changes again after \d+ ms/)
})
