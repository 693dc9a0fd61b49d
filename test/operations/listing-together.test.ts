// Listings that are asked for at the same time share their looks at the folder, and none is older than its question.
import t from 'tap'
import { connect, transports, type Answer } from '../fixtures/clients.ts'
import { lengthOf } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

type Call = (name: string, input: object) => Promise<Answer>

const clientCount = 9
const rounds = lengthOf({ full: 20, short: 2 })
/** With so many files a look is interrupted by other calls. */
const listings = [
  [
    'async_list',
    lengthOf({ full: 20_000, short: 5000 }),
    async (call: Call) => (await call('async_list', { path: '.', pattern: 'own-*' }))['entries']
  ],
  ['list_files', 2000, async (call: Call) => (await call('list_files', {}))['files']]
] as const

for (const [name, fileCount, list] of listings) {
  t.test(`${name}: many clients at once, each finds what it has just made and nothing it has deleted`, async (t) => {
    const tree = makeTree(t, Object.fromEntries(Array.from({ length: fileCount }, (_, at) => [`file-${at}`, ''])))
    const { url } = await startServer(t, tree.root, { mcp: { tools: ['all', 'files'] } })
    const clients = await Promise.all(
      Array.from({ length: clientCount }, (_, at) => connect(t, transports[at % transports.length] ?? 'rest', url))
    )
    const found = await Promise.all(
      clients.map(async (client, at) => {
        const call: Call = (name, input) => client.call(name, input)
        const names = async () => ((await list(call)) as { name: string }[]).map(({ name }) => name)
        const seen: boolean[] = []
        for (let round = 0; round < rounds; round += 1) {
          const path = `own-${at}-${round}`
          await call('async_write', { path, content: 'new\n' })
          seen.push((await names()).includes(path))
          await call('async_delete', { path })
          seen.push(!(await names()).includes(path))
        }
        return seen
      })
    )
    t.equal(found.flat().length, clientCount * rounds * 2)
    t.equal(found.flat().filter((isRight) => !isRight).length, 0)
  })
}
