// The promise of the whole, with three hosts behind a balancer that gives each request to the next one.
import t from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { healthOf } from '../../fixtures/processes.ts'
import { programAsOverRest } from '../../fixtures/server.ts'
import { runSwarm } from '../../harness/swarm/swarm.ts'
import { holdPlace, lacksBalancer, startBalancer } from './fixtures/balancer.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'

const rounds = lengthOf({ full: 600, short: 12 })
const ofEach = lengthOf({ full: 4, short: 1 })

t.test(
  'clients change a few files through three hosts at once, and every acknowledged change is there once',
  { skip: lacksEtcd || lacksBalancer },
  async (t) => {
    const etcd = await startEtcd(t)
    const place = await holdPlace()
    const environment = {
      ...programAsOverRest,
      ASYNC_CRUD_MCP_DAEMON__ALLOWED_HOSTS: JSON.stringify([place.host])
    }
    let roles: string[] = []
    const result = await runSwarm(t, {
      // A session of 2025 stays with the host that began it: a balancer that needs no stickiness is not for it.
      clients: { rest: ofEach, 'mcp-2026': ofEach, 'mcp-2025': 0 },
      rounds,
      files: 2,
      async serve(tree) {
        const hosts = await Promise.all([1, 2, 3].map(() => startHost(t, { etcd, tree, environment })))
        for (const { url } of hosts) await fetch(`${url}/locks`)
        roles = await Promise.all(hosts.map(async ({ url }) => String((await healthOf(url))['role'])))
        const url = await startBalancer(t, place, hosts)
        return { url, stop: () => Promise.all(hosts.map((host) => host.stop())) }
      }
    })
    t.strictSame(roles.toSorted(), ['authority', 'relay', 'relay'])
    t.strictSame(result.violations, [])
    t.equal(
      result.reports.reduce((sum, { retries }) => sum + retries.length, 0),
      rounds
    )
  }
)
