// Who made what, when many sessions change one tree by shell commands at once.
import { cpus } from 'node:os'
import t from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { givenSeed, isLong, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { startServer } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'
import { runCampaign } from './campaign.ts'
import { giveBack } from './give-back.ts'
import { judge, ownChangesTold, type Counts } from './judge.ts'

const count = lengthOf({ long: 10_000, full: 500, short: 150 })
const sessions = 8
/** On a busy machine commands overlap for longer, so that more changes may have been made by any of several. */
const wantedShare = isLong ? 0.95 : 0.8
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)

t.test(`each change by a command has its author (TEST_SEED=${seed})`, { timeout: 3_600_000 }, async (t) => {
  const lines = (name: string) => [1, 2, 3, 4, 5].map((line) => `line ${line} of ${name}`).join('\n') + '\n'
  const names = Array.from({ length: sessions * 2 }, (_, id) => `s${id}`)
  const shared = Array.from({ length: 40 }, (_, at) => `shared/f${at}.txt`)
  const all = [
    ...shared,
    ...Array.from({ length: 3000 }, (_, at) => `src/d${at % 50}/f${at}.txt`),
    ...names.flatMap((name) => [
      `own/${name}.txt`,
      `patched/${name}.txt`,
      ...[1, 2, 3].map((at) => `format/${name}/f${at}.txt`)
    ])
  ]
  const { root } = makeCommitted(t, Object.fromEntries(all.map((path) => [path, lines(path)])))
  const { url, app } = await startServer(t, root, {
    crud: { max_file_versions: 1000, base_cache_bytes: 2 ** 28 },
    daemon: { log_level: 'warn' }
  })
  const began = performance.now()
  const campaign = await runCampaign({ root, url, sessions, count, random: createRandom(seed), shared })
  const seconds = (performance.now() - began) / 1000
  const { alone, overlapping, uncertain, lost, faults } = await judge(campaign, root, app)
  const share = (counts: Counts) => counts.right / Math.max(1, counts.right + counts.oneOf + counts.wrong)
  t.comment(
    JSON.stringify({
      seconds: Math.round(seconds),
      cpus: cpus().length,
      writes: campaign.writes.length,
      refused: campaign.refused.length,
      alone,
      overlapping,
      uncertain,
      lost
    })
  )
  const own = ownChangesTold(campaign.told, campaign.writes)
  for (const line of own.slice(0, 5)) t.comment(line)
  for (const line of campaign.refused.slice(0, 5)) t.comment(line)
  for (const fault of faults.slice(0, 20)) t.comment(fault)
  t.same([alone.wrong, alone.oneOf], [0, 0], 'of changes that no other command overlaps all have the right author')
  t.equal(overlapping.wrong, 0, 'no other one has a wrong author alone')
  t.ok(share(overlapping) >= wantedShare, `${(100 * share(overlapping)).toFixed(1)} % of them have the right one alone`)
  t.ok(alone.right > 0 && overlapping.right > 0, 'there are both')
  t.equal(lost, 0, 'what a command has written is in a version that is kept')
  t.same(own, [], 'nobody is told of its own change as of another’s')
  // To judge took long: the server may just be closing connections that were kept meanwhile.
  await until(() =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false
    )
  )
  const client = await connect(t, 'rest', url, 'giver')
  const given = await giveBack(campaign, { root, client, random: createRandom(seed + 1), most: isLong ? 1000 : 20 })
  t.comment(`${given.undone} undone, ${given.restored} restored`)
  for (const fault of given.faults.slice(0, 5)) t.comment(fault)
  t.same(given.faults, [], 'what a command took away is given back, byte for byte')
  t.ok(given.undone > 5 && given.restored > 5, 'by an undo and by a restore')
})
