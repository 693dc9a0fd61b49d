// The replay: any moment of the log is what was on the disk then, to the byte, with the authors, holders and waiters of that time.
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { noBrowser, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect, type Answer, type TestClient } from '../fixtures/clients.ts'
import { lengthOf } from '../fixtures/length.ts'
import { createRandom, type Random } from '../fixtures/random.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const steps = lengthOf({ full: 120, short: 60 })
const names = ['a.txt', 'b.txt', 'c.txt', 'd/e.txt', 'd/f.txt']

interface Seen {
  readonly seq: number
  /** By path. */
  readonly texts: Readonly<Record<string, string>>
  /** The file of which `ranges` says who made each line. */
  readonly path: string
  readonly ranges: unknown
}

/** One change of any kind, as long as it is possible right now. */
async function changeSomething(
  tree: Tree,
  agents: readonly TestClient[],
  random: Random,
  step: number
): Promise<string> {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!
  const agent = pick(agents)
  const present = names.filter((name) => tree.all().includes(name))
  const absent = names.filter((name) => !present.includes(name))
  const path = pick(present.length > 0 ? present : names)
  const change_set = `step ${step}`
  const kind = Math.floor(random() * 9)
  if (present.length === 0 || (kind === 0 && absent.length > 0)) {
    const created = pick(absent)
    await agent.call('async_write', {
      path: created,
      content: `new ${step} é\r\nno end`,
      create_dirs: true,
      change_set
    })
    return created
  }
  if (kind === 1 && absent.length > 0) {
    const renamed = pick(absent)
    await agent.call('async_rename', { old_path: path, new_path: renamed, create_dirs: true, change_set })
    return renamed
  }
  if (kind === 2 && present.length > 2) await agent.call('async_delete', { path, change_set })
  else if (kind === 3) await agent.call('async_undo', { of_change_set: `step ${step - 1 - Math.floor(random() * 5)}` })
  else if (kind === 4) {
    const other = pick(present)
    const changes = [...new Set([path, other])].map((each) => ({
      operation: 'append',
      path: each,
      content: `\ntogether ${step}`
    }))
    await agent.call('async_transaction', { changes, change_set })
  } else if (kind === 5) {
    tree.write(path, `outside ${step}\n${tree.read(path)}`)
    await agent.call('async_read', { path })
  } else {
    const lines = tree.read(path).split('\n')
    const content = lines.with(Math.floor(random() * lines.length), `line ${step}`).join('\n')
    const { hash } = await agent.call('async_read', { path })
    await agent.call('async_update', { path, expected_hash: hash, content, change_set })
  }
  return path
}

t.test('each of many moments has the files, the texts and the authors that were there', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\nb\nc\n', 'b.txt': '', 'c.txt': 'c\n', 'untouched.txt': 'as ever\n' })
  const settings = { persistence: { enabled: true } }
  const { url, app } = await startServer(t, tree.root, settings)
  const agents = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const [ann] = agents as [TestClient]
  for (const path of ['a.txt', 'b.txt', 'c.txt']) await ann.call('async_read', { path })
  const random = createRandom(37)
  const seen: Seen[] = []
  for (let step = 0; step < steps; step += 1) {
    const path = await changeSomething(tree, agents, random, step)
    const { seq } = await ann.call('replay', { limit: 0 })
    const present = names.filter((name) => tree.all().includes(name))
    const { ranges } = await ann.call('async_blame', { path })
    const texts = Object.fromEntries(present.map((name) => [name, readFileSync(tree.path(name)).toString('latin1')]))
    seen.push({ seq, texts, path, ranges })
  }
  t.ok(new Set(seen.map(({ seq }) => seq)).size > (steps * 2) / 3, 'most steps are moments of their own')

  const log = (await ann.call('replay', { with_log: true, limit: 0 }))['log'] as Answer
  const seqs = log['seqs'] as number[]
  t.strictSame(log['other_files'], ['untouched.txt'], 'what the log does not know')
  t.strictSame(
    [...new Set(seen.map(({ seq }) => seq))].filter((seq) => seq > 0 && !seqs.includes(seq)),
    [],
    'each moment is in the log'
  )
  await checkMoments(ann, seen)
  t.match(await ann.call('replay', { seq: 0, path: 'a.txt' }), {
    seq: 0,
    file: { content: 'a\nb\nc\n', ranges: [{ start_line: 1, end_line: 3, agent_id: null }] }
  })
  t.match(await ann.call('replay', { seq: seqs[9], path: 'untouched.txt' }), { file: { content: 'as ever\n' } })
  t.match(await ann.call('replay', { seq: 0, contains: 'TOUCHED' }), {
    files: [{ path: 'untouched.txt', seen_later: true, kept: true }],
    total_files: 1
  })
  const at = new Date((log['times'] as number[])[40]!).toISOString()
  t.equal((await ann.call('replay', { at, limit: 0 }))['change'].at, at)
  t.match(await ann.call('replay', { at, seq: 1 }), { error_code: 'INVALID_REQUEST' })

  await app.close()
  const later = await startServer(t, tree.root, settings)
  await checkMoments(
    await connect(t, 'rest', later.url, 'ann'),
    seen.filter((_, index) => index % 12 === 0)
  )

  async function checkMoments(client: TestClient, moments: readonly Seen[]): Promise<void> {
    const wrong: unknown[] = []
    const expect = (what: unknown[], found: unknown, wanted: unknown) => {
      if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push([...what, { found, wanted }])
    }
    for (const { seq, texts, path, ranges } of moments) {
      const answers = await Promise.all(names.map((name) => client.call('replay', { seq, path: name })))
      for (const [index, { file, seq: shown }] of answers.entries()) {
        expect([seq, 'seq'], shown, seq)
        const name = names[index]!
        const content = file.content === null ? undefined : Buffer.from(file.content as string).toString('latin1')
        expect([seq, name], [file.exists, content], [name in texts, texts[name]])
        if (name === path && ranges !== undefined) expect([seq, name, 'authors'], file.ranges, ranges)
      }
      const listed = (answers[0]!['files'] as Answer[]).map((file) => file['path'] as string)
      expect(
        [seq, 'files'],
        listed.filter((name) => name !== 'untouched.txt'),
        Object.keys(texts).sort()
      )
    }
    t.strictSame(wrong.slice(0, 3), [], `${moments.length} moments`)
  }
})

t.test('who held a file and who waited for it is shown as it was', async (t) => {
  const tree = makeTree(t, { f: 'one\n', g: 'g\n' })
  const { url } = await startServer(t, tree.root, { crud: { max_list_entries: 1 } })
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  await ann.call('async_write', { path: 'before', content: 'nobody holds anything\n' })
  await untilAfter((await ann.call('replay'))['change'])
  await ann.call('lock_try', { filepaths: ['f'], note: 'a longer change' })
  const waiting = bob.call('lock_wait', { filepaths: ['f'], timeout_seconds: 60 })
  await until(async () => (await ann.call('async_status', { path: 'f' }))['queue_depth'] === 1)
  await ann.call('async_append', { path: 'f', content: 'two\n' })
  const atChange = [
    { path: 'f', agent_id: 'ann', waits: false, mode: 'exclusive', note: 'a longer change' },
    { path: 'f', agent_id: 'bob', waits: true }
  ]
  const moment = await ann.call('replay')
  t.match(moment['locks'], atChange, 'while they last')
  await untilAfter(moment['change'])
  await ann.call('lock_release_all')
  await waiting
  await bob.call('lock_release_all')
  await until(async () => (await ann.call('async_status', { path: 'f' }))['queue_depth'] === 0)
  const { seq } = moment
  const later = await ann.call('replay', { seq })
  t.match(later['locks'], atChange, 'and afterwards')
  t.equal(later['locks'].length, 2, 'the lease that bob got then is not among them')
  t.strictSame((await ann.call('replay', { seq: seq - 1 }))['locks'], [], 'none before')
  const { log } = await ann.call('replay', { with_log: true })
  t.match(log, { seqs: [Number, seq], other_files: [] }, 'the log is there, also of a tree too large to be listed')
  t.ok(Date.parse(later['locks_known_since']) <= Date.parse(later['change'].at))
})

/** Times are whole milliseconds, of two clocks. */
const untilAfter = ({ at }: Answer) => until(() => Date.now() > Date.parse(at) + 5)

const browser = noBrowser === false ? await startBrowser(t) : undefined

async function playChanges(t: Test) {
  const tree = makeTree(t, { 'src/a.ts': 'one\ntwo\n', 'src/b.ts': 'b\n', 'README.md': 'read me\n' })
  const { url } = await startServer(t, tree.root)
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  for (const path of ['src/a.ts', 'src/b.ts']) await ann.call('async_read', { path })
  await ann.call('lock_try', { filepaths: ['src/a.ts'], note: 'adds lines' })
  await ann.call('async_append', { path: 'src/a.ts', content: 'three\n', change_set: 'More lines' })
  await ann.call('lock_release_all')
  await bob.call('async_delete', { path: 'src/b.ts' })
  await bob.call('async_append', { path: 'src/a.ts', content: 'four\n' })
  return { tree, url, ann, bob }
}

t.test('the slider of the board leads to any moment, and a link leads there, too', { skip: noBrowser }, async (t) => {
  const { url, bob } = await playChanges(t)
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#replay`)
  const files = page.locator('#replay-files .row')
  await files.filter({ hasText: 'a.ts' }).click()
  const code = page.getByRole('region', { name: 'Text at this moment' }).locator('.code')
  const untilText = (...lines: string[]) => until(async () => (await code.allTextContents()).join() === lines.join())
  await untilText('one', 'two', 'three', 'four')
  t.match(await files.allTextContents(), [/README\.md.*unchanged/, /src\/a\.ts.*changed.*bob/])
  const slider = page.getByRole('slider', { name: 'Moment, by change' })
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await untilText('one', 'two', 'three')
  const untilWords = (words: RegExp) =>
    until(async () => words.test((await slider.getAttribute('aria-valuetext')) ?? ''))
  await untilWords(/^change 2 of 3, [\d:.]+: bob, delete src\/b\.ts$/)
  await page.keyboard.press('ArrowLeft')
  await untilWords(/^change 1 of 3, [\d:.]+: ann, append src\/a\.ts$/)
  const detail = page.getByRole('region', { name: 'Details' })
  await detail.getByText(/held it \(exclusive\)/).waitFor()
  t.match(await detail.locator('.plain').textContent(), /ann.*adds lines/)
  t.match(await page.locator('.moment-words').textContent(), /ann.*append.*src\/a\.ts.*in More lines/s)
  t.match(await files.allTextContents(), [
    /README\.md/,
    /src\/a\.ts.*held by ann/,
    /src\/b\.ts.*first looked at|src\/b\.ts.*there before/
  ])
  t.strictSame(
    await detail
      .locator('.blame th')
      .allTextContents()
      .then((all) => all.map((text) => text.trim())),
    ['there before', 'ann']
  )

  const other = await openPage(t, browser)
  await other.goto(page.url())
  await until(async () => (await other.locator('.code').allTextContents()).join() === 'one,two,three')

  await page.keyboard.press('Home')
  await untilText('one', 'two')
  t.equal(await slider.getAttribute('aria-valuetext'), 'before the first change')
  await page.getByLabel('changes a second').selectOption('20')
  await page.getByRole('button', { name: 'Play' }).click()
  await untilText('one', 'two', 'three', 'four')
  await page.getByRole('button', { name: 'Play' }).waitFor()
  t.equal(await slider.inputValue(), '3', 'it ends at the last one')

  await bob.call('async_append', { path: 'src/a.ts', content: 'five\n' })
  await page.getByRole('button', { name: 'Look again' }).click()
  await page.getByText('4 changes').waitFor()
  await untilText('one', 'two', 'three', 'four')
  await page.getByRole('button', { name: 'Later' }).click()
  await untilText('one', 'two', 'three', 'four', 'five')
  await detail.getByRole('button', { name: 'ann' }).click()
  await untilWords(/^change 1 of 4/)
  await page.getByLabel('Path').fill('read')
  await until(async () => (await files.count()) === 1)

  await page.getByRole('link', { name: 'Changes' }).click()
  await page.locator('#timeline .row', { has: page.locator('.kind.deleted') }).click()
  await detail.getByRole('link', { name: 'The tree then' }).click()
  await untilWords(/^change 2 of 4.*delete src\/b\.ts$/)
  await detail.getByText('It was not there at this moment.').waitFor()
})
