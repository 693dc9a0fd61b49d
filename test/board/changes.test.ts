// The changes on the board: one line for one change, each with its cause, and an address that leads to it again.
import t, { type Test } from 'tap'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect, type TestClient } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { checkLook, looks } from './looks.ts'

const browser = skip === false ? await startBrowser(t) : undefined
/** It takes seconds: in the short form the program's own tests come first. */
const forFull = skip === false && !isFull ? 'in full: npm run test:full' : skip
const path = 'packages/storefront/src/totals.ts'
const text = 'one\ntwo\nthree\nfour\nfive\nsix\n'

async function playLate(t: Test, settings = {}) {
  const tree = makeTree(t, { [path]: text, 'a.ts': 'a\n', 'b.ts': 'b\n' })
  const server = await startServer(t, tree.root, settings)
  const [ann, bob] = [await connect(t, 'rest', server.url, 'ann'), await connect(t, 'rest', server.url, 'bob')]
  return { tree, ann, bob, ...server }
}

/** Bob changes line 2; Ann comes too late with line 2, and then with line 5, which is merged. */
async function meet(ann: TestClient, bob: TestClient, words: string): Promise<void> {
  const { hash, content } = (await ann.call('async_read', { path })) as { hash: string; content: string }
  const change = (line: number, by: string) => ({
    path,
    expected_hash: hash,
    content: content
      .split('\n')
      .with(line - 1, `${words} by ${by}`)
      .join('\n')
  })
  await bob.call('async_update', change(2, 'bob'))
  await ann.call('async_update', change(2, 'ann'))
  await ann.call('async_update', { ...change(5, 'ann'), on_contention: 'merge' })
}

t.test(
  'a merge is one line and says what it met; a refused change stands under the one it came too late for',
  { skip },
  async (t) => {
    const { ann, bob, url } = await playLate(t)
    const page = await openPage(t, browser)
    await page.goto(`${url}/board#changes`)
    await page.getByText('Nothing has changed').waitFor()
    await meet(ann, bob, 'once')
    const rows = page.locator('#timeline .row')
    await rows.locator('.kind.merged').waitFor()
    const kinds = page.locator('#timeline .row .kind')
    t.strictSame(await kinds.allTextContents(), ['merged', 'changed', '↳ contention'])
    const detail = page.getByRole('region', { name: 'Details' })
    await rows.nth(0).click()
    await detail.getByText('What ann did not know: by bob').waitFor()
    await detail.getByText('What the merge has added').waitFor()
    const changed = detail.locator('.diff-box').locator('tr.removed, tr.added')
    await changed.nth(3).waitFor()
    t.strictSame(await changed.allTextContents(), ['2−two', '2+once by bob', '5−five', '5+once by ann'])
    await rows.nth(2).click()
    await detail.getByText('What ann did not know: by bob').waitFor()
    await detail.getByText('What ann tried, and was not written').waitFor()
    await changed.nth(3).waitFor()
    const both = ['2−two', '2+once by bob', '2−two', '2+once by ann']
    t.strictSame(await changed.allTextContents(), both, 'what was there, and what it tried')
    await page.reload()
    await changed.nth(3).waitFor()
    t.strictSame(await changed.allTextContents(), both, 'after a reload, too')
    t.strictSame(await kinds.allTextContents(), ['merged', 'changed', '↳ contention'])

    const edit = (file: string) => ({ operation: 'write', path: file, content: `${file}\n` })
    const made = await ann.call('async_transaction', {
      changes: [edit('new-1.ts'), edit('new-2.ts'), edit('new-3.ts')]
    })
    t.equal(made['status'], 'ok')
    const several = rows.filter({ hasText: 'transaction: 3 files' })
    await several.click()
    t.equal(await rows.count(), 4, 'one line for all three')
    await detail.getByRole('button', { name: 'new-2.ts' }).click()
    await detail.getByRole('heading', { name: 'new-2.ts' }).waitFor()
  }
)

t.test(
  'filters, times and the chosen change are in the address, and a link to it works in a new page',
  { skip: forFull },
  async (t) => {
    const persistent = { persistence: { enabled: true } }
    const { ann, bob, url, tree, app } = await playLate(t, persistent)
    await meet(ann, bob, 'once')
    const page = await openPage(t, browser, { mayFail: /ERR_/ })
    await page.goto(`${url}/board#changes`)
    await page.getByLabel('Agent').fill('bob')
    await page.getByLabel('From').fill('2026-01-01T00:00:01')
    const rows = page.locator('#timeline .row')
    // The list is drawn in a later frame than its count.
    const only = page.locator('#timeline .row[aria-setsize="1"]')
    await only.click()
    const detail = page.getByRole('region', { name: 'Details' })
    await detail.getByRole('region', { name: 'Difference' }).waitFor()
    await page.reload()
    await detail.getByRole('region', { name: 'Difference' }).waitFor()
    t.equal(await page.getByLabel('Agent').inputValue(), 'bob')
    t.equal(await page.getByLabel('From').inputValue(), '2026-01-01T00:00:01')
    await only.waitFor()
    const other = await openPage(t, browser)
    await other.goto(page.url().replace('agent=bob', 'agent=nobody'))
    await other.getByText('Nothing fits').waitFor()
    await other.getByRole('region', { name: 'Difference' }).waitFor()
    const link = new URL(page.url()).hash
    await page.getByRole('button', { name: 'Clear' }).click()
    await rows.nth(1).waitFor()
    await page.getByLabel('To').fill('2026-01-01T00:00:01')
    await page.getByText('Nothing fits').waitFor()

    await page.getByRole('link', { name: 'Now' }).click()
    await page.locator('#agents .row', { hasText: 'ann' }).click()
    await page.getByRole('button', { name: 'Take changes back…' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Take changes back…' }).waitFor()
    await page.goBack()
    await page.locator('#agents .row').first().waitFor()
    await page.goto('about:blank')
    await other.close()

    for (let part = 0; part < 16; part += 1)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          ann.call('async_write', { path: `later/${part}-${index}`, content: 'new\n', create_dirs: true })
        )
      )
    await app.close()
    const later = await startServer(t, tree.root, persistent)
    await page.goto(`${later.url}/board${link}`)
    await detail.getByRole('region', { name: 'Difference' }).waitFor()
    t.match(await detail.textContent(), /bob.*2−two2\+once by bob/s, 'over a restart')
    await page.getByText('Nothing fits').waitFor()
    t.equal(await rows.count(), 0, 'though the timeline does not reach back to it')
    await page.getByRole('button', { name: 'Show older changes' }).click()
    await only.waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('322 changes in 321 files').waitFor()
    t.equal(await page.getByRole('button', { name: 'Show older changes' }).count(), 0, 'that is all')
  }
)

t.test('late changes have no barrier at any width, light and dark', { skip: forFull }, async (t) => {
  const { ann, bob, url } = await playLate(t)
  for (const { name, options } of looks) {
    const page = await openPage(t, browser, options)
    await page.goto(`${url}/board#changes`)
    await page.getByRole('status').getByText('Live').waitFor()
    await meet(ann, bob, name)
    await page.locator('#timeline .row .kind.merged').first().click()
    await page.getByText('What the merge has added').waitFor()
    await checkLook(t, page, `a merge, ${name}`)
    await page.context().close()
  }
})
