// The way back on the board: what one agent, task, command or time has changed is taken back, after a look at what that would do.
import { chmodSync, existsSync, rmSync, statSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect, type TestClient } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { checkLook, listenTo, looks } from './looks.ts'

const browser = skip === false ? await startBrowser(t) : undefined
const lines = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', '']
const text = (changes: Readonly<Record<string, string>> = {}) => lines.map((line) => changes[line] ?? line).join('\n')

/** Each takes seconds: in the short form the program's own tests come first. */
function inFull(title: string, run: (t: Test) => Promise<void>): void {
  if (isFull) void t.test(title, { skip }, run)
}

/** Ann and Bob have changed one file at two places, and Ann has made another one, all for one task. */
async function playTask(t: Test) {
  const tree = makeTree(t, { 'src/shared.ts': text(), 'src/old.ts': 'old\n' })
  const server = await startServer(t, tree.root)
  const [ann, bob] = [await connect(t, 'rest', server.url, 'ann'), await connect(t, 'rest', server.url, 'bob')]
  const task = { change_set: 'Count in letters' }
  await edit(ann, { old_string: 'two', new_string: 'b' }, task)
  await edit(bob, { old_string: 'eight', new_string: 'EIGHT' })
  await ann.call('async_write', { path: 'src/letters.ts', content: 'a\nb\n', ...task })
  await ann.call('async_delete', { path: 'src/old.ts', ...task })
  return { tree, ann, bob, ...server }
}

async function edit(agent: TestClient, patch: { old_string: string; new_string: string }, task = {}): Promise<void> {
  const { hash } = await agent.call('async_read', { path: 'src/shared.ts' })
  await agent.call('async_update', { path: 'src/shared.ts', expected_hash: hash, patches: [patch], ...task })
}

async function openDialog(page: Page, name: string): Promise<Locator> {
  const dialog = page.getByRole('dialog', { name })
  await dialog.waitFor()
  return dialog
}

t.test(
  "an agent's changes are taken back after a look at the plan, others' stay, and a redo makes them again",
  { skip },
  async (t) => {
    const { tree, url } = await playTask(t)
    const page = await openPage(t, browser)
    await page.goto(`${url}/board`)
    await page.locator('#agents .row', { hasText: 'ann' }).click()
    await page.getByRole('button', { name: 'Take changes back…' }).click()

    const dialog = await openDialog(page, 'Take changes back?')
    await dialog.getByText('3 changes in 3 files would be taken back.').waitFor()
    t.equal(await dialog.getByLabel('Whose').inputValue(), 'ann')
    const shared = dialog.locator('details', { hasText: 'shared.ts' })
    await shared.getByText('stays: bob 1 line').waitFor()
    await dialog.locator('.planned', { hasText: 'old.ts' }).getByText('comes back').waitFor()
    await dialog.locator('.planned', { hasText: 'letters.ts' }).getByText('goes', { exact: true }).waitFor()
    await shared.locator('summary').click()
    t.match(await shared.locator('tr.removed, tr.added').allTextContents(), ['2−b', '2+two'])
    t.equal(tree.read('src/shared.ts'), text({ two: 'b', eight: 'EIGHT' }), 'only looked at so far')

    await dialog.getByRole('button', { name: 'Take back 3 changes' }).click()
    const done = await openDialog(page, 'Taken back')
    t.equal(tree.read('src/shared.ts'), text({ eight: 'EIGHT' }))
    t.equal(tree.read('src/old.ts'), 'old\n')
    t.notOk(existsSync(tree.path('src/letters.ts')))

    await done.getByRole('button', { name: 'Redo…' }).click()
    const redo = await openDialog(page, 'Redo what was taken back?')
    await redo.getByText('3 changes in 3 files would be made again.').waitFor()
    await redo.getByRole('button', { name: 'Redo 3 changes' }).click()
    const again = await openDialog(page, 'It is there again')
    t.equal(tree.read('src/shared.ts'), text({ two: 'b', eight: 'EIGHT' }))
    t.notOk(existsSync(tree.path('src/old.ts')))
    await again.getByRole('button', { name: 'Close' }).click()
    await again.waitFor({ state: 'detached' })
  }
)

inFull(
  'one change, a whole task, and an undo itself lead to the same dialog from the line of the timeline',
  async (t) => {
    const { tree, url } = await playTask(t)
    const page = await openPage(t, browser)
    await page.goto(`${url}/board#changes`)
    const detail = page.getByRole('region', { name: 'Details' })
    await page.locator('#timeline .row', { hasText: 'old.ts' }).click()
    await detail.getByRole('button', { name: 'Take this change back…' }).click()
    const one = await openDialog(page, 'Take changes back?')
    await one.getByText('1 change in 1 file would be taken back.').waitFor()
    await one.getByRole('button', { name: 'Take back 1 change' }).click()
    await until(() => existsSync(tree.path('src/old.ts')))
    await page.getByRole('button', { name: 'Close' }).click()

    await page.locator('#timeline .row', { hasText: 'letters.ts' }).click()
    await detail.getByRole('button', { name: 'Take all of it back…' }).click()
    const all = await openDialog(page, 'Take changes back?')
    t.equal(await all.getByLabel('Task').inputValue(), 'Count in letters')
    await all.getByRole('button', { name: 'Take back 2 changes' }).click()
    await until(() => tree.read('src/shared.ts') === text({ eight: 'EIGHT' }))
    await page.getByRole('button', { name: 'Close' }).click()

    await page.locator('#timeline .row', { hasText: 'undo: 2 files' }).click()
    await detail.getByRole('button', { name: 'Redo…' }).click()
    const redo = await openDialog(page, 'Redo what was taken back?')
    await redo.getByRole('button', { name: 'Redo 2 changes' }).click()
    await until(() => existsSync(tree.path('src/letters.ts')))
    t.equal(tree.read('src/shared.ts'), text({ two: 'b', eight: 'EIGHT' }))
  }
)

inFull('a conflict is shown with its three sides, stops all of it, and can be left out', async (t) => {
  const { tree, bob, url } = await playTask(t)
  await edit(bob, { old_string: 'b', new_string: 'B' })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#agents .row', { hasText: 'ann' }).click()
  await page.getByRole('button', { name: 'Take changes back…' }).click()
  const dialog = await openDialog(page, 'Take changes back?')
  await dialog.getByText('In the way (1)').waitFor()
  t.match(await dialog.locator('.sides').textContent(), /to be taken back.*b.*there now.*B.*would come back.*two/s)
  const button = dialog.getByRole('button', { name: 'Take back 2 changes' })
  t.ok(await button.isDisabled(), 'not all of it can be taken back')
  await dialog.getByLabel('Leave these, and take back the rest.').check()
  await button.click()
  await openDialog(page, 'Taken back')
  t.equal(tree.read('src/shared.ts'), text({ two: 'B', eight: 'EIGHT' }))
  t.equal(tree.read('src/old.ts'), 'old\n')
})

inFull('what programs beside the server have changed in the last minutes comes back at once', async (t) => {
  const { tree, ann, url } = await playTask(t)
  await ann.call('async_read', { path: 'src/letters.ts' })
  tree.write('src/shared.ts', 'all gone\n')
  rmSync(tree.path('src/letters.ts'))
  await ann.call('async_write', { path: 'src/run.sh', content: 'echo\n' })
  chmodSync(tree.path('src/run.sh'), 0o755)
  await ann.call('async_read', { path: 'src/run.sh' })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#changes`)
  await page.getByRole('button', { name: 'Take back…' }).click()
  const dialog = await openDialog(page, 'Take changes back?')
  await dialog.getByText('Say whose changes').waitFor()
  await dialog.getByRole('button', { name: 'last 10 min' }).click()
  await dialog.getByLabel('Whose').selectOption('external')
  await dialog.getByText('3 changes in 3 files would be taken back.').waitFor()
  await dialog
    .locator('.planned', { hasText: 'run.sh' })
    .getByText(/^mode 755 → 6\d\d$/)
    .waitFor()
  await dialog.getByRole('button', { name: 'Take back 3 changes' }).click()
  await openDialog(page, 'Taken back')
  t.equal(statSync(tree.path('src/run.sh')).mode & 0o111, 0)
  t.equal(tree.read('src/shared.ts'), text({ two: 'b', eight: 'EIGHT' }))
  t.equal(tree.read('src/letters.ts'), 'a\nb\n')
})

inFull('the file shows who made each line, and leads from a line to the way back of its change', async (t) => {
  const { tree, url } = await playTask(t)
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#changes`)
  await page.locator('#timeline .row', { hasText: 'shared.ts' }).first().click()
  await page.getByRole('button', { name: 'Who made each line' }).click()
  const blame = page.getByRole('region', { name: 'Who made each line' })
  await blame.waitFor()
  t.match(await blame.locator('tbody').allTextContents(), [
    'there before1one',
    'ann2b',
    /^there before3three/,
    'bob8EIGHT',
    /^there before9nine/
  ])
  await blame.getByRole('button', { name: 'ann' }).click()
  await page.getByText(/: line 2, update, Count in letters/).waitFor()
  const detail = page.getByRole('region', { name: 'Details' })
  const said = await listenTo(page)
  const since = await detail.locator('p time').first().textContent()
  await until(async () => (await detail.locator('p time').first().textContent()) !== since)
  t.strictSame(await said(), [], 'the time goes on without a word')
  await detail.getByRole('button', { name: 'Take this change back…' }).last().click()
  const dialog = await openDialog(page, 'Take changes back?')
  await dialog.getByRole('button', { name: 'Take back 1 change' }).click()
  await openDialog(page, 'Taken back')
  t.equal(tree.read('src/shared.ts'), text({ eight: 'EIGHT' }))
})

inFull('the dialog and the lines of a file have no barrier at any width, light and dark', async (t) => {
  const { bob, url } = await playTask(t)
  await edit(bob, { old_string: 'b', new_string: 'B' })
  for (const { name, options } of looks) {
    const page = await openPage(t, browser, options)
    await page.goto(`${url}/board#changes`)
    await page.locator('#timeline .row', { hasText: 'shared.ts' }).first().click()
    await page.getByRole('button', { name: 'Who made each line' }).click()
    await page.getByRole('region', { name: 'Who made each line' }).waitFor()
    await checkLook(t, page, `the lines of a file, ${name}`)
    await page.getByRole('link', { name: 'Now' }).click()
    await page.locator('#agents .row', { hasText: 'ann' }).click()
    await page.getByRole('button', { name: 'Take changes back…' }).click()
    const dialog = await openDialog(page, 'Take changes back?')
    await dialog.getByText('In the way (1)').waitFor()
    await dialog.locator('.planned').first().waitFor()
    await checkLook(t, page, `the dialog, ${name}`)
    await page.context().close()
  }
})
