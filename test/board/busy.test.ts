// The board of a busy tree: all of its files are there, no frame is held up for long, and the page keeps no more as time goes by.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { isFull, isLong, lengthOf } from '../fixtures/length.ts'
import { startBusyTree } from '../harness/board/busy-tree.ts'
import { heapOf, watchFrames, watchTasks } from '../harness/board/page-meter.ts'

const size = isLong ? { agents: 500, files: 10_000 } : { agents: 60, files: 2400 }
const eventsPerSecond = 200
/** Half a minute fills the timeline; from then on what is added takes the place of something. */
const seconds = lengthOf({ long: 600, full: 3, short: 3 })
const fillSeconds = isLong ? 30 : 0
const views = ['Now', 'Changes', 'Where it burns']
/** Of a frame. Only the long form, on a machine of its own, is judged by times. */
const maxTaskMs = 100
const maxGrownMb = 8
const maxServerShare = 0.05

t.test(
  `${size.files} files in use by ${size.agents} agents, ${eventsPerSecond} events a second, for ${seconds} s`,
  { skip: skip || (!isFull && 'takes a minute: npm run test:full'), timeout: (seconds + 300) * 1000 },
  async (t) => {
    const browser = await startBrowser(t)
    const tree = await startBusyTree(t, { ...size, eventsPerSecond })
    // One that follows, as a script would: the events are made with a board and without.
    const stream = new AbortController()
    t.teardown(() => stream.abort())
    void follow(`${tree.url}/events`, stream.signal)
    const bare = await openPage(t, browser)
    const alone = isLong ? await tree.cpuShareOf(20) : 0
    const page = await openPage(t, browser, { viewport: { width: 1280, height: 800 } })
    // Ten thousand files take a busy machine a while.
    page.setDefaultTimeout(60_000)
    await page.goto(`${tree.url}/board`)

    await page.locator('#files .row').first().waitFor()
    // By path, one behind the leases that come and go.
    await page.evaluate(`document.querySelector('#files').scrollTop = ${44 * (size.files - 10)}`)
    const last = page.locator('#files .row', { hasText: 'src/part-99/file-99.ts' })
    await last.waitFor()
    t.ok(Number(await last.getAttribute('aria-setsize')) >= size.files, 'all files are in the list, part by part')
    await sleep(fillSeconds * 1000)

    const each = seconds / views.length
    const heaps: number[] = []
    let spent = 0
    for (const view of views) {
      await page.getByRole('link', { name: view }).click()
      // The tasks of ten minutes are too many to be kept.
      const tasks = seconds > 60 ? undefined : await watchTasks(browser, page)
      const [frames, floor, madeBefore] = [await watchFrames(page), await watchFrames(bare), tree.load.made()]
      spent += (await tree.cpuShareOf(each)) / views.length
      const [{ count, longest }, { longest: longestBare }] = [await frames(), await floor()]
      const task = await tasks?.()
      heaps.push(await heapOf(page))
      t.comment(
        `${view}: ${Math.round((tree.load.made() - madeBefore) / each)} events/s, ${Math.round(count / each)} frames/s, longest frame ${Math.round(longest)} ms, of a bare page ${Math.round(longestBare)} ms, longest task ${task?.toFixed(1)} ms, ${heaps.at(-1)?.toFixed(1)} MB`
      )
      // A machine that holds up a bare page says nothing of this one.
      if (isLong && longestBare < maxTaskMs / 2) t.ok(longest < maxTaskMs, `${view}: no frame takes ${maxTaskMs} ms`)
    }
    const grown = Math.max(...heaps) - (heaps[0] as number)
    t.ok(grown < maxGrownMb, `${grown.toFixed(1)} MB more`)
    t.comment(`the server: ${(alone * 100).toFixed(1)} % of a core alone, ${(spent * 100).toFixed(1)} % with a board`)
    if (isLong) t.ok(spent - alone < maxServerShare, 'the server pays less than 5 % of a core for a board')
  }
)

async function follow(url: string, signal: AbortSignal): Promise<void> {
  try {
    await (await fetch(url, { signal })).body?.pipeTo(new WritableStream())
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
