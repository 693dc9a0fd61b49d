// The list of files in use on the board: of a long one the waits are shown soon, and of those shown before nothing is kept.
import t from 'tap'
import type { Page } from 'playwright-core'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const browser = skip === false ? await startBrowser(t) : undefined
const files = Array.from({ length: 50 }, (_, index) => `f${index}`)
/** Of an older list: what waits for the list to rest knows the rows in sight. */
const rowsInSight = 30
/** board/store.ts */
const restMs = 700

t.test('of the files in use the page keeps the last list, whatever was looked at before', { skip }, async (t) => {
  const tree = makeTree(t, Object.fromEntries(files.map((name) => [name, 'one\n'])))
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('lock_try', { filepaths: files })
  await ann.call('async_write', { path: 'new', content: 'new\n' })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .row').first().waitFor()

  for (const view of ['Now', 'Changes', 'Where it burns']) {
    await page.getByRole('link', { name: view }).click()
    if (view === 'Now') await page.locator('#files .row').first().click()
    if (view === 'Changes') await page.locator('#timeline .row').first().click()
    for (let reading = 0; reading < 2; reading += 1) await readAgain(page)
    t.ok((await countFiles(page)) >= files.length, 'they were found')
    // What was shown before goes with the next drawing, which rests between two.
    await until(async () => (await countFiles(page)) <= files.length + rowsInSight)
    t.pass(`${view}: no entries of an older list`)
  }
})

t.test(
  'of a long list the files that are waited for are read by themselves, so that a wait shows up and goes soon',
  { skip },
  async (t) => {
    const { url } = await startServer(t, makeTree(t).root)
    const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
    const names = Array.from({ length: 2000 }, (_, index) => `f${index}`)
    for (const part of [names.slice(0, 1000), names.slice(1000)]) await ann.call('lock_try', { filepaths: part })
    const page = await openPage(t, browser)
    const readings: string[] = []
    await page.goto(`${url}/board`)
    await page.locator('#files .row').first().waitFor()
    await readAgain(page)

    page.on('request', (request) => readings.push(new URL(request.url()).search))
    const row = page.locator('#files .row', { hasText: 'f1999' })
    // On a busy machine the whole list may be due by the time that the wait has begun.
    while (!readings.includes('?limit=1000&only=waited_for')) {
      const end = new AbortController()
      const waiting = bob.call('lock_wait', { filepaths: ['f1999'], timeout_seconds: 60 }, { signal: end.signal })
      await row.getByText('1 waiting').waitFor()
      end.abort()
      await waiting.catch(() => undefined)
      await row.waitFor({ state: 'detached' })
    }
    t.pass('the waits were read by themselves')
  }
)

t.test('a long list is read only while it is shown, and is right again when it is', { skip }, async (t) => {
  const { url } = await startServer(t, makeTree(t).root)
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const names = Array.from({ length: 2000 }, (_, index) => `f${index}`)
  for (const part of [names.slice(0, 1000), names.slice(1000)]) await ann.call('lock_try', { filepaths: part })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .row').first().waitFor()
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.locator('#timeline').waitFor()
  await readAgain(page)

  const readings: string[] = []
  page.on('request', (request) => readings.push(new URL(request.url()).search))
  for (let reading = 0; reading < 3; reading += 1) await readAgain(page)
  t.ok(readings.includes('?limit=1000&only=waited_for'), 'the waits are read')
  t.notOk(readings.includes('?limit=1000'), 'the list is not')

  // No event tells of a renewal.
  await ann.call('lock_renew', { filepaths: ['f0'], ttl_seconds: 3600 })
  await bob.call('lock_try', { filepaths: ['a'] })
  await page.getByRole('link', { name: 'Now' }).click()
  await page.locator('#files .row', { hasText: 'bob' }).waitFor()
  await page.locator('#files .row', { hasText: 'f0' }).getByText('60 min left').waitFor()
  t.pass('what came meanwhile is there')
})

t.test('between two readings of the state the page rests, whatever happens meanwhile', { skip }, async (t) => {
  const { url } = await startServer(t, makeTree(t).root)
  const ann = await connect(t, 'rest', url, 'ann')
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .empty').waitFor()
  let readings: Readonly<Record<'begin' | 'end', number>>[] = []
  for (let step = 0; readings.length < 6; step += 1) {
    await ann.call('async_write', { path: `f${step}`, content: 'one\n' })
    readings = await page.evaluate<typeof readings>(`(() => {
      const all = (end) => performance.getEntriesByType('resource').filter(({ name }) => name.endsWith(end))
      const begins = all('/locks?limit=1000').map(({ startTime }) => startTime)
      return all('/activity').flatMap(({ responseEnd: end }) => {
        const begin = begins.findLast((each) => each < end)
        return end === 0 || begin === undefined ? [] : [{ begin, end }]
      })
    })()`)
  }
  // The first are those of the connection, which has just begun.
  const rests = readings.slice(3).map(({ begin }, index) => begin - (readings[index + 2]?.end ?? 0))
  t.ok(Math.min(...rests) >= restMs - 5, `${rests.map(Math.round).join(', ')} ms`)
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
  // The collection of queryObjects alone keeps what its own stack seems to point to.
  await session.send('HeapProfiler.collectGarbage')
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
