// The board keeps what it shows, and nothing of what it showed before: otherwise a page that is open all day grows with each look.
import t from 'tap'
import type { Page } from 'playwright-core'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const browser = skip === false ? await startBrowser(t) : undefined
const files = Array.from({ length: 50 }, (_, index) => `f${index}`)
/** The list that is shown, and one that is on its way. */
const maxLists = 2
const rounds = 2

t.test('of the files in use the page keeps the last list, whatever was looked at before', { skip }, async (t) => {
  const tree = makeTree(t, Object.fromEntries(files.map((name) => [name, 'one\n'])))
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('lock_try', { filepaths: files })
  for (const path of ['new', 'newer']) await ann.call('async_write', { path, content: 'new\n' })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .row').first().waitFor()

  for (let round = 0; round < rounds; round += 1)
    for (const view of ['Now', 'Changes', 'Where it burns']) {
      await page.getByRole('link', { name: view }).click()
      if (view === 'Now') await page.locator('#files .row').nth(round).click()
      if (view === 'Changes') await page.locator('#timeline .row').nth(round).click()
      await readAgain(page)
    }
  const kept = await countFiles(page)
  t.ok(kept >= files.length, 'they were found')
  t.ok(kept <= maxLists * files.length, `${kept} entries of ${files.length} files`)
})

/** A tab that is looked at again reads the state anew. */
async function readAgain(page: Page): Promise<void> {
  const read = page.waitForResponse((response) => response.url().endsWith('/activity'))
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await (await read).finished()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
}

/** All entries of lists of files in use that a collection leaves. */
async function countFiles(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  const { result: prototype } = await session.send('Runtime.evaluate', { expression: 'Object.prototype' })
  const { objects } = await session.send('Runtime.queryObjects', { prototypeObjectId: String(prototype.objectId) })
  const { result } = await session.send('Runtime.callFunctionOn', {
    objectId: String(objects.objectId),
    functionDeclaration: `function () {
      const isFile = (each) => Object.hasOwn(each, 'pending_requests') && Object.hasOwn(each, 'holders')
      return this.filter(isFile).length
    }`,
    returnByValue: true
  })
  await session.detach()
  return Number(result.value)
}
