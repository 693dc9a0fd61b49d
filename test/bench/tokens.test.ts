// The story of `npm run bench -- tokens` goes as it is told, and costs no more of the reference server's tokens than is promised.
import t from 'tap'
import { withOwner } from '../../bench/owner.ts'
import { installPackages, loadTokenCounter } from '../../bench/peers/packages.ts'
import { ours } from '../../bench/peers/servers.ts'
import { clientForms } from '../../bench/story/client-forms.ts'
import { playWithNativeTools } from '../../bench/story/native-agent.ts'
import { ourAgent } from '../../bench/story/our-agent.ts'
import { playOverMcp, type Played } from '../../bench/story/play.ts'
import { usualFieldCount as fieldCount } from '../../bench/story/project.ts'
import { cheapestRight, storyPackages, tellAll } from '../../bench/subjects/tokens.ts'
import { isFull } from '../fixtures/length.ts'

for (const client of clientForms) {
  t.test(`the story goes as it is told, shown as ${client.name} shows it`, async (t) => {
    const played = await withOwner((owner) =>
      playOverMcp({ owner, client, fieldCount }, ours, 'async-crud-mcp', ourAgent)
    )
    t.equal(played.wrongLines, 0, 'both agents find their changes')
    const readIn = (title: RegExp) =>
      played.exchanges.filter((exchange) => title.test(exchange.title)).map(({ read }) => read)
    const contentions = readIn(/^contention/)
    t.equal(contentions.length, 6, 'no second read')
    for (const [at, answer] of contentions.entries()) {
      if (at % 2 === 0) t.match(answer, /contention.*modified/s)
      else t.notMatch(answer, 'contention')
    }
    t.match(readIn(/merge/), [/merged/])
    t.equal(readIn(/lease/).length, 6)
    t.equal(editsOf(played), 4 + 6 + 1 + 4)
  })
}

t.test('with the tools of Claude Code, stale edits are refused and the files are right in the end', async (t) => {
  const [client] = clientForms
  const played = await withOwner((owner) => playWithNativeTools({ owner, client, fieldCount }))
  t.equal(played.wrongLines, 0)
  t.equal(played.exchanges.filter(({ read }) => read.startsWith('<tool_use_error>')).length, 4)
  t.equal(editsOf(played), 12 + 4)
})

/** Of the tokens of the reference server, in the cheapest way with it that leaves the files right. */
const promised = 0.6

const reason = isFull ? installPackages(storyPackages) : 'installs a server and a tokenizer: npm run test:full'

t.test(`the story costs at most ${promised} of it`, { skip: reason ?? false }, async (t) => {
  const count = loadTokenCounter()
  for (const client of clientForms) {
    const told = await tellAll(client, fieldCount, count)
    const [own] = told
    const share = (own?.tokens ?? NaN) / (cheapestRight(told)?.tokens ?? NaN)
    t.ok(share <= promised, `${client.name}: ${(share * 100).toFixed(1)} %`)
    t.strictSame(
      told.map(({ wrongLines }) => wrongLines),
      [0, 1, 0, 0, ...(client.hasNativeTools ? [0] : [])],
      'at once, the agent calls what the other has renamed'
    )
  }
})

function editsOf({ exchanges }: Played): number {
  return exchanges.filter(({ wrote }) => /^\S*(?:async_update|Edit) /.test(wrote)).length
}
