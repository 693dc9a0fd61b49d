// Landing from the board: what each agent would commit, on whom that rests, and the commit itself.
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../src/config/config.ts'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect, type TestClient } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { makeCommitted } from '../fixtures/repository.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { checkLook, looks } from './looks.ts'

const browser = skip === false ? await startBrowser(t) : undefined
const path = 'packages/storefront/src/widgets/button.tsx'
const text = 'one\ntwo\nthree\nfour\nfive\nsix\n'

/** Ann has changed a line and made a file; Bob has changed another line, and one of Ann's. */
async function playWork(t: Test, overrides: PartialConfig = {}) {
  const { tree, git } = makeCommitted(t, { [path]: text })
  git('config', 'user.name', 'Name')
  git('config', 'user.email', 'name@example.org')
  const server = await startServer(t, tree.root, overrides)
  const [ann, bob] = [await connect(t, 'rest', server.url, 'ann'), await connect(t, 'rest', server.url, 'bob')]
  await edit(ann, 'two', 'by ann')
  await ann.call('async_write', { path: 'docs/new.md', content: '# New\n' })
  await edit(bob, 'five', 'by bob')
  return { tree, git, ann, bob, ...server }
}

const rowOf = (page: Page, agent: string): Locator =>
  page.locator('#shares .row', { has: page.locator('.two-lines > div:first-child .name', { hasText: agent }) })

async function edit(agent: TestClient, old_string: string, new_string: string): Promise<void> {
  const { hash } = await agent.call('async_read', { path })
  await agent.call('async_update', { path, expected_hash: hash, patches: [{ old_string, new_string }] })
}

t.test("one agent's part is shown as it would be committed, and committed by the button", { skip }, async (t) => {
  const { tree, git, url } = await playWork(t)
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#land`)
  const row = rowOf(page, 'ann')
  await row.getByText('+2').waitFor()
  await row.click()
  const detail = page.getByRole('region', { name: 'Details' })
  await detail.getByText('2 files, as they would be committed').waitFor()
  const file = detail.locator('details', { hasText: 'button.tsx' })
  t.match(await file.locator('tr.removed, tr.added').allTextContents(), ['2−two', '2+by ann'])
  await detail.getByLabel('Message').fill('Ann changes a line')
  await detail.getByRole('button', { name: 'Land 2 files' }).click()
  await until(() => git('log', '-1', '--format=%s') === 'Ann changes a line')
  t.equal(git('show', `HEAD:${path}`), text.replace('two', 'by ann').trim())
  t.equal(tree.read(path), text.replace('two', 'by ann').replace('five', 'by bob'), 'the tree stays as it is')
  await row.waitFor({ state: 'detached' })
  t.equal(await page.locator('#shares .row').count(), 1, 'what Bob has changed is left')
})

/** It takes seconds: in the short form the program's own tests come first. */
const forFull = skip === false && !isFull ? 'in full: npm run test:full' : skip

t.test('what rests on others is named, and can be taken along', { skip: forFull }, async (t) => {
  const { git, bob, url } = await playWork(t)
  await edit(bob, 'by ann', 'by ann and bob')
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#land`)
  await rowOf(page, 'bob').getByText('rests on').waitFor()
  await rowOf(page, 'bob').click()
  const detail = page.getByRole('region', { name: 'Details' })
  await detail.getByText('Rests on others (1)').waitFor()
  t.match(await detail.locator('.plain li').textContent(), /button\.tsx.*line 2.*ann/)
  t.ok(await detail.getByRole('button', { name: 'Land 1 file' }).isDisabled())
  await detail.getByLabel('Take the changes of ann along.').check()
  await detail.getByRole('button', { name: 'Land 2 files' }).click()
  await until(() => git('status', '--short') === '')
  t.match(git('log', '-1', '--format=%B'), /Agent: bob\nAgent: ann/)
})

t.test('lines whose makers are forgotten are named, and can be taken', { skip: forFull }, async (t) => {
  const { git, bob, url } = await playWork(t, { crud: { max_file_versions: 1 } })
  for (let round = 1; round <= 12; round += 1) await edit(bob, 'six', `by bob ${round}\nsix`)
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#land`)
  await rowOf(page, 'ann').click()
  const detail = page.getByRole('region', { name: 'Details' })
  const title = detail.getByText('Not taken, since it is forgotten who made them')
  await title.waitFor()
  t.match(await detail.locator('.plain li').first().textContent(), /button\.tsx.*line 2.*ann.*bob/)
  await detail.getByRole('button', { name: 'Land 1 file' }).waitFor()
  await detail.getByLabel('Take changes, too, that may be of another.').check()
  await title.waitFor({ state: 'detached' })
  await detail.getByRole('button', { name: 'Land 2 files' }).click()
  await until(() => git('show', `HEAD:${path}`).includes('by ann'))
})

t.test('a folder that is no repository is said to be none', { skip: forFull }, async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const page = await openPage(t, browser, { mayFail: /400/ })
  await page.goto(`${url}/board#land`)
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').textContent(), /repository/i)
})

t.test('the plan and a landing have no barrier at any width, light and dark', { skip: forFull }, async (t) => {
  const { bob, url } = await playWork(t)
  await edit(bob, 'by ann', 'by ann and bob')
  for (const { name, options } of looks) {
    const page = await openPage(t, browser, options)
    await page.goto(`${url}/board#land`)
    await rowOf(page, 'bob').click()
    await page.getByText('Rests on others (1)').waitFor()
    await checkLook(t, page, `landing, ${name}`)
    await page.context().close()
  }
})
