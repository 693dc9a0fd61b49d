// A client of a GlusterFS volume is cut off while it writes: whether another client can replace that file rests on a mount option.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { atMost } from '../../../src/support/at-most.ts'
import { until } from '../../fixtures/until.ts'
import { testInNamespaces } from './fixtures/in-namespaces.ts'
import { createNetworks, lacksNamespaces } from './fixtures/network.ts'
import { lacksBricks, makeVolume, serves } from './fixtures/volumes.ts'

t.setTimeout(600_000)
const rounds = 8
const limitSeconds = 20
const replace = 'echo new > "$0/new" && mv "$0/new" "$0/a.txt"'

async function run(t: Test): Promise<void> {
  const network = createNetworks()

  /** @returns how often the file was replaced before that did not end, at most `rounds` times */
  async function countReplaced(t: Test, waitsForLocks: boolean): Promise<number> {
    const clients = [await network.addMachine(t), await network.addMachine(t)] as const
    const address = network.ownAddress('volume')
    // The lock of a write is not kept for the next one: it is given back after the write was answered.
    const settings = { 'cluster.eager-lock': 'off' }
    const { mounts } = await makeVolume(t, { files: { 'a.txt': '' }, clients, address, settings, waitsForLocks })
    const [own, other] = [mounts[0]!, mounts[1]!]
    for (let count = 0; count < rounds; count += 1) {
      writeFileSync(join(own.tree.root, 'a.txt'), `round ${count}`)
      clients[0].cut('volume')
      const start = performance.now()
      const child = spawn('sh', ['-c', replace, other.tree.root], { stdio: 'ignore' })
      // Where it does not end, it cannot be killed either.
      const isReplaced = await atMost(
        limitSeconds * 1000,
        once(child, 'exit').then(() => true)
      )
      if (isReplaced === undefined) return count
      t.comment(`replaced after ${Math.round(performance.now() - start)} ms`)
      clients[0].mend('volume')
      await until(() => serves(own))
    }
    return rounds
  }

  await t.test('as docs/hosts.md has it mounted, another client replaces the file', async (t) => {
    t.equal(await countReplaced(t, false), rounds)
  })

  await t.test('as it is mounted by default, that does not end', async (t) => {
    t.ok((await countReplaced(t, true)) < rounds)
  })
}

testInNamespaces('a client is cut off while it writes', lacksBricks || lacksNamespaces, run)
