// What needs an operator stands at the top of the board as long as its cause lasts, with the buttons that help.
import { existsSync, renameSync } from 'node:fs'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { findConcerns, type Known } from '../../board/attention/concerns.ts'
import type { Activity, HistoryVersion, Holder, LockedFile, Waiter } from '../../board/model.ts'
import { withResolvers } from '../../src/support/with-resolvers.ts'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect } from '../fixtures/clients.ts'
import { someOf } from '../fixtures/length.ts'
import { makeCommitted } from '../fixtures/repository.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { checkLook, listenTo, looks } from './looks.ts'

const start = Date.parse('2026-11-26T10:00:00.000Z')
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString()
const holder = (agent_id: string, seconds = 0): Holder => {
  return { type: 'lease', mode: 'exclusive', agent_id, acquired_at: at(seconds), expires_at: at(3600) }
}
const waiter = (agent_id: string, seconds = 0): Waiter => {
  return { type: 'lease', mode: 'exclusive', agent_id, queued_at: at(seconds), timeout_at: at(3600) }
}
const quiet: Activity = {
  agents: [],
  files: [],
  strip_seconds: 60,
  refused_circles: [],
  rivals: [],
  refused_commands: [],
  long_wait_seconds: 60,
  timestamp: at(0)
}

/** What is shown so many seconds after the start. */
function shownAt(
  seconds: number,
  files: readonly LockedFile[],
  activity: Partial<Activity> = {},
  filesAt = seconds
): string[] {
  const now = start + seconds * 1000
  const known: Known = {
    files,
    filesAt: start + filesAt * 1000,
    activity: { ...quiet, ...activity },
    degraded: [],
    now,
    short: (path) => path
  }
  return findConcerns(known).map(({ title, words, since }) => {
    const text = words.map((part) => (typeof part === 'string' ? part : 'agent' in part ? part.agent : part.path))
    return `${(since - start) / 1000} ${title}: ${text.join('')}`
  })
}

t.test('a wait needs attention after a minute, and a holder that has not called for two', async (t) => {
  const file = { path: 'f', holders: [holder('ann')], pending_requests: [waiter('bob', 10)] }
  const seen = (seconds: number) => ({
    agents: [{ agent_id: 'ann', last_seen: at(seconds), operation: 'async_read' }]
  })
  t.strictSame(shownAt(69, [file]), [])
  t.strictSame(shownAt(70, [file]), ['10 Long wait: bob waits for f, held by ann'])
  t.strictSame(shownAt(149, [file], seen(30)), ['10 Long wait: bob waits for f, held by ann'])
  const silent = '30 Silent holder: ann holds f and has not called, while bob waits'
  t.strictSame(shownAt(150, [file], seen(30)), [silent], 'one line for one file')
  const young = { ...file, pending_requests: [waiter('bob', 140)] }
  t.strictSame(shownAt(150, [young], seen(30)), [silent], 'though the waiter has just come')
  t.strictSame(shownAt(150, [{ ...file, pending_requests: [] }], seen(30)), [], 'nobody waits')
  t.strictSame(shownAt(99, [file], { long_wait_seconds: 90 }), [], 'the setting counts')
  const next = { path: 'g', holders: [holder('cy')], pending_requests: [waiter('ann', 20), waiter('dan', 30)] }
  t.strictSame(
    shownAt(300, [file, next], { agents: [{ agent_id: 'cy', last_seen: at(290), operation: 'async_read' }] }),
    ['10 Long wait: bob waits for f, held by ann', '20 Long wait: ann and 1 other wait for g, held by cy'],
    'a holder that waits itself is not silent; the longest first'
  )
})

t.test('a refused circle needs attention as long as its other agents wait for the refused one', async (t) => {
  const waits = [
    { agent_id: 'ann', waits_for: 'g' },
    { agent_id: 'bob', waits_for: 'f' }
  ]
  const refused = { refused_circles: [{ at: at(100), waits }] }
  const file = { path: 'f', holders: [holder('ann', 90)], pending_requests: [waiter('bob', 95)] }
  const text = '100 Deadlock broken: ann was refused, since it would have waited for ever: ann → g → bob → f → ann'
  t.strictSame(shownAt(101, [], refused), [text], 'at first in any case')
  t.strictSame(shownAt(161, [], refused), [], 'it has let go')
  t.strictSame(shownAt(161, [], refused, 99), [text], 'until it is known who waits')
  t.equal(shownAt(165, [file], refused).at(-1), text)
  t.notOk(shownAt(165, [{ ...file, pending_requests: [waiter('bob', 110)] }], refused).includes(text), 'a new wait')
  t.notOk(shownAt(701, [file], refused).includes(text), 'by now it is a long wait like any other')
})

t.test(
  'two agents need attention that met three times in ten minutes at one file, and a refused command',
  async (t) => {
    const rivals = [{ path: 'f', late_agent_id: 'ann', agent_id: 'bob', times: [0, 300, 500].map(at) }]
    t.strictSame(shownAt(600, [], { rivals }), [
      '0 Again and again: ann and bob change f at the same time: 3 changes came too late'
    ])
    t.strictSame(shownAt(601, [], { rivals }), [], 'two of them by now')
    const refused = { at: at(0), agent_id: 'ann', command: '"git stash"', files: ['f', 'g'], further_files: 3 }
    const shown = (others: string[]) => shownAt(600, [], { refused_commands: [{ ...refused, others }] })
    const text = '0 Command refused: ann wanted to run "git stash": it would discard uncommitted lines of'
    t.strictSame(shown(['bob', 'cy']), [`${text} bob and 1 more in f and 4 more`])
    t.strictSame(shown([]), [`${text} others in f and 4 more`])
    t.strictSame(shownAt(601, [], { refused_commands: [{ ...refused, others: [] }] }), [])
  }
)

const browser = skip === false ? await startBrowser(t) : undefined

t.test('a silent holder and a broken deadlock are shown, said once, and ended from there', { skip }, async (t) => {
  const tree = makeTree(t, { 'src/a.ts': 'a\n', 'src/b.ts': 'b\n' })
  const { url } = await startServer(t, tree.root, { locks: { long_wait_seconds: 0.3 } })
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const cy = await connect(t, 'rest', url, 'cy')
  const page = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto(`${url}/board#changes`)
  await page.getByText('Nothing has changed').waitFor()
  const attention = page.getByRole('region', { name: 'Needs attention' })
  t.equal(await attention.count(), 0, 'nothing does')

  await ann.call('lock_try', { filepaths: ['src/a.ts'], note: 'a longer change' })
  const waiting = bob.call('lock_wait', { filepaths: ['src/a.ts'], timeout_seconds: 60 })
  const row = attention.locator('li', { hasText: 'Silent holder' })
  await row.waitFor()
  t.match(await row.textContent(), /ann holds src\/a\.ts and has not called, while bob waits since \d\d:\d\d:\d\d, /)
  const news = page.getByRole('status').filter({ hasText: 'Silent holder: ann holds src/a.ts' })
  await news.waitFor({ state: 'attached' })
  const said = await listenTo(page)
  const first = await row.textContent()
  await cy.call('async_write', { path: 'src/c.ts', content: 'c\n' })
  await page.locator('#timeline .row', { hasText: 'src/c.ts' }).waitFor()
  await until(async () => (await row.textContent()) !== first)
  t.strictSame(await said(), [], 'the time goes on, and lines are added, without a word')

  await row.getByRole('button', { name: 'Copy a message for ann' }).click()
  await row.getByText('copied').waitFor()
  const message = String(await page.evaluate('navigator.clipboard.readText()'))
  t.match(
    message,
    /^You have held src\/a\.ts \(a longer change\) since .*bob waits.*lock_release with filepaths \["src\/a\.ts"\]/
  )

  await row.getByRole('button', { name: 'Break the lease…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Break the lease?' })
  await dialog.getByLabel('Reason').fill('ann has gone home')
  await dialog.getByRole('button', { name: 'Break the lease' }).click()
  t.match(await waiting, { all_acquired: true })
  await attention.waitFor({ state: 'detached' })

  // The page knows of the circle before it knows who waits.
  const gate = withResolvers<void>()
  await page.route('**/activity', async (route) => {
    await gate.promise
    await route.continue()
  })
  const asked = page.waitForRequest('**/activity')
  await ann.call('lock_try', { filepaths: ['src/b.ts'] })
  await asked
  const blocked = bob.call('lock_wait', { filepaths: ['src/b.ts'], timeout_seconds: 60 })
  await until(async () => (await ann.call('async_status', { path: 'src/b.ts' }))['queue_depth'] === 1)
  t.match(await ann.call('lock_wait', { filepaths: ['src/a.ts'] }), { error_code: 'DEADLOCK' })
  gate.resolve()
  const circle = attention.locator('li', { hasText: 'Deadlock broken' })
  const shownFirst = await circle.elementHandle()
  await circle.getByRole('button', { name: 'Break the lease…' }).waitFor()
  t.ok(await shownFirst?.evaluate((element) => element.isConnected), 'it is not gone meanwhile')
  await circle.getByRole('button', { name: 'Copy a message for ann' }).click()
  await circle.getByText('copied').waitFor()
  t.match(
    await page.evaluate('navigator.clipboard.readText()'),
    /^Your request for src\/a\.ts was refused .*lock_release_all/
  )
  await ann.call('lock_release_all')
  await blocked
  await attention.waitFor({ state: 'detached' })
})

t.test('agents that keep meeting, a refused command and a degraded part lead to what helps', { skip }, async (t) => {
  const { root, git } = makeCommitted(t, { 'src/a.ts': 'a\n', 'src/b.ts': 'b\n' })
  git('config', 'user.name', 'ann')
  git('config', 'user.email', 'ann@example.org')
  const { url } = await startServer(t, root)
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  // While the root is away Git cannot be asked.
  const page = await openPage(t, browser, { mayFail: /status of (400|500)/ })
  await page.goto(`${url}/board`)
  await page.getByText('No agent has called yet').waitFor()
  const attention = page.getByRole('region', { name: 'Needs attention' })

  for (const step of ['one', 'two', 'three']) {
    const { hash } = await ann.call('async_read', { path: 'src/b.ts' })
    await bob.call('async_update', { path: 'src/b.ts', expected_hash: hash, content: `${step}\n` })
    const late = await ann.call('async_update', { path: 'src/b.ts', expected_hash: hash, content: 'mine\n' })
    t.equal(late['status'], 'contention')
  }
  const rivals = attention.locator('li', { hasText: 'Again and again' })
  await rivals.getByText('at the same time: 3 changes came too late').waitFor()
  await rivals.getByRole('button', { name: 'Take changes back…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Take changes back?' })
  await dialog.getByRole('button', { name: /^Take back \d changes?$/ }).waitFor()
  t.equal(await dialog.getByLabel('Files').inputValue(), 'src/b.ts')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  const isFocused = (each: Locator) => each.evaluate((element) => element === element.ownerDocument.activeElement)
  const button = rivals.getByRole('button', { name: 'Take changes back…' })
  t.ok(await isFocused(button), 'where it was before the dialog')

  const tool = { tool_name: 'Bash', tool_input: { command: 'git checkout .' } }
  await fetch(`${url}/hooks/claude-code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ session_id: 'me', hook_event_name: 'PreToolUse', cwd: root, ...tool })
  })
  const command = attention.locator('li', { hasText: 'Command refused' })
  await command.waitFor()
  t.match(
    await command.textContent(),
    /claude me wanted to run git checkout \.: .* uncommitted lines of bob in src\/b\.ts/
  )
  t.match(await attention.locator('li').allTextContents(), [/Command refused/, /Again and again/])
  t.ok(await isFocused(button), 'though a line came in above it')
  await command.getByRole('button', { name: 'Land its work…' }).click()
  await page.getByRole('region', { name: 'Details' }).getByRole('heading', { name: 'bob' }).waitFor()

  await page.getByRole('link', { name: 'Now' }).click()
  renameSync(root, `${root}-away`)
  const degraded = attention.locator('li', { hasText: 'Degraded' })
  await degraded.getByText(/^roots: /).waitFor()
  renameSync(`${root}-away`, root)
  await degraded.waitFor({ state: 'detached' })
})

t.test('an operator finds what is asked for with a few clicks, at every width', { skip }, async (t) => {
  const tree = makeTree(t, { 'src/a.ts': 'a\n', 'src/b.ts': 'b\n' })
  const { url } = await startServer(t, tree.root, { locks: { long_wait_seconds: 1 } })
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const [sub, old] = [await connect(t, 'rest', url, 'ann/tests'), await connect(t, 'rest', url, 'old')]
  for (const client of [sub, old]) await client.call('async_read', { path: 'src/a.ts' })
  await ann.call('lock_try', { filepaths: ['src/a.ts'], note: 'moves it' })
  await ann.call('async_append', { path: 'src/a.ts', content: 'by ann\n' })
  await ann.call('async_write', { path: 'src/long-ago.ts', content: 'old\n' })
  const task = { change_set: 'Count in letters' }
  const write = (path: string) => ann.call('async_write', { path, content: 'new\n', ...task })
  const end = new AbortController()
  const waiting = bob.call('lock_wait', { filepaths: ['src/a.ts'], timeout_seconds: 300 }, { signal: end.signal })

  const widths = looks.filter(({ options }) => options.colorScheme === 'light')
  for (const [round, { name, options }] of someOf(widths, 2).entries()) {
    await write(`src/new-${round}.ts`)
    const page = await openPage(t, browser, options)
    await page.route('**/activity?*', async (route) =>
      route.fulfill({ json: aged(await (await route.fetch()).json()) })
    )
    await page.route('**/activity', async (route) => route.fulfill({ json: aged(await (await route.fetch()).json()) }))
    await page.route('**/async_history', async (route) =>
      route.fulfill({ json: agedVersions(await (await route.fetch()).json()) })
    )
    await page.goto(`${url}/board`)
    let clicks = 0
    const click = async (target: Locator) => {
      clicks += 1
      await target.click()
    }
    const asked = (question: string, most: number) => {
      t.ok(clicks <= most, `${question} ${clicks} clicks, ${name}`)
      clicks = 0
    }
    const detail = page.getByRole('region', { name: 'Details' })

    await page.getByRole('region', { name: 'Needs attention' }).getByText(/bob/).first().waitFor()
    asked('What is stuck?', 0)

    await click(page.locator('#files .row', { hasText: 'src/a.ts' }))
    await detail.getByText('moves it').waitFor()
    t.match(await detail.textContent(), /Held by.*ann.*exclusive lease.*moves it.*In the queue.*bob/s)
    asked('Who holds this file and why?', 1)
    t.ok(await isInView(detail.getByRole('heading', { name: 'Held by' })), `brought into view, ${name}`)
    await click(detail.getByRole('button', { name: 'Who made each line' }))
    const blame = page.getByRole('region', { name: 'Who made each line' })
    await blame.waitFor()
    t.match(await blame.locator('tbody').allTextContents(), ['there before1a', 'ann2by ann'])
    asked('Who changed this line?', 1)

    t.equal(await page.locator('#agents .subagent', { hasText: 'ann' }).count(), 1, 'under its parent')
    const fold = page.getByRole('button', { name: '1 silent for more than five minutes' })
    t.equal(await page.locator('#agents .row', { hasText: 'old' }).count(), 0)
    await fold.click()
    await page.locator('#agents .row', { hasText: 'old' }).waitFor()
    t.match(page.url(), /silent=shown/)
    await fold.click()

    await click(page.locator('#agents .row').filter({ hasNotText: 'tests' }).filter({ hasText: 'ann' }))
    const calls = detail.locator('li', { hasText: `src/new-${round}.ts` })
    await calls.waitFor()
    t.match(await calls.textContent(), /ok.*write src\/new-/)
    t.match(
      await detail.textContent(),
      /Holds.*src\/a\.ts.*over rest.*\d reads?, \d changes?, 0 contentions, 0 merges/s
    )
    await checkLook(t, page, `an agent, ${name}`)
    await click(detail.getByRole('button', { name: 'Its last ten minutes' }))
    await page.locator('#timeline .row', { hasText: `new-${round}.ts` }).waitFor()
    await page.getByText(/^\d+ changes in \d+ files$/).waitFor()
    asked('What did this agent do in the last ten minutes?', 2)
    const longAgo = page.locator('#timeline .row', { hasText: 'long-ago.ts' })
    t.equal(await longAgo.count(), 0)
    await page.getByRole('button', { name: 'any time' }).click()
    await longAgo.waitFor()

    await page.goBack()
    await detail.getByText('Last calls').waitFor()
    await click(detail.getByRole('button', { name: 'Take its last task back…' }))
    const dialog = page.getByRole('dialog', { name: 'Take changes back?' })
    await click(dialog.getByRole('button', { name: 'Take back 1 change' }))
    await until(() => !existsSync(tree.path(`src/new-${round}.ts`)))
    asked("Take this agent's last task back.", 2)
    // The page may be reading: the answer would come to a context that is closed.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.context().close()
  }
  end.abort()
  await waiting.catch(() => undefined)
})

/** One agent has not called for six minutes. */
function aged(activity: Activity): Activity {
  const longAgo = new Date(Date.now() - 6 * 60_000).toISOString()
  const agents = activity.agents.map((each) => (each.agent_id === 'old' ? { ...each, last_seen: longAgo } : each))
  return { ...activity, agents }
}

/** One file was changed twenty minutes ago. */
function agedVersions(answer: { readonly versions: readonly HistoryVersion[] }): object {
  const longAgo = new Date(Date.now() - 20 * 60_000).toISOString()
  const versions = answer.versions.map((each) => (each.path.endsWith('long-ago.ts') ? { ...each, at: longAgo } : each))
  return { ...answer, versions }
}

const isInView = (what: Locator): Promise<boolean> =>
  what.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect()
    return top >= 0 && bottom <= element.ownerDocument.documentElement.clientHeight
  })
