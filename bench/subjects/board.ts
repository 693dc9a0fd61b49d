// The board at its largest: 500 agents, 10,000 files in use, 200 events a second; what the page and the server pay for it.
import { setTimeout as sleep } from 'node:timers/promises'
import { noBrowser, startBrowser } from '../../test/fixtures/browser.ts'
import { startBusyTree } from '../../test/harness/board/busy-tree.ts'
import { heapOf, watchFrames, watchTasks } from '../../test/harness/board/page-meter.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const eventsPerSecond = 200
const views = ['Now', 'Changes', 'Where it burns']
/** The heap is looked at after each: a collection would hold up a frame. */
const parts = 4
const viewport = { width: 1280, height: 800 }
/** As long as the page may rest between two readings of what is long, and once more. */
const settleMs = 5000

export async function board({ seconds = 24, agents = 500, files = 10_000 }: Options): Promise<void> {
  console.log(`\n## board: ${agents} agents, ${files} files in use, ${eventsPerSecond} events a second`)
  if (noBrowser !== false) return console.log(`skipped: ${noBrowser}`)
  await withOwner(async (owner) => {
    const tree = await startBusyTree(owner, { agents, files, eventsPerSecond })
    // A stream that is read, as a script would: the events are made with a board and without.
    const stream = new AbortController()
    owner.teardown(() => stream.abort())
    void drain(`${tree.url}/events`, stream.signal)
    const browser = await startBrowser({ teardown: (end) => owner.teardown(end), fail: console.log })
    // The floor, at the same time and in a process of its own: frames of a page that does nothing.
    const bare = await (await browser.newContext({ viewport })).newPage()
    const each = seconds / views.length
    await sleep(settleMs)
    const madeAtStart = tree.load.made()
    const aloneSeconds = Math.min(each, 30)
    const alone = await tree.cpuShareOf(aloneSeconds)
    const madeAlone = tree.load.made() - madeAtStart
    const page = await (await browser.newContext({ viewport })).newPage()
    await page.goto(`${tree.url}/board`)
    await page.locator('#files .row').first().waitFor({ timeout: 60_000 })
    const rows: string[][] = []
    for (const view of views) {
      await page.getByRole('link', { name: view }).click()
      await sleep(settleMs)
      const heaps = [await heapOf(page)]
      let [made, count, longest, longestBare, spent, task] = [0, 0, 0, 0, 0, 0]
      for (let part = 1; part <= parts; part += 1) {
        // Those of all of a long run are too many to be kept.
        const tasks = part === parts ? await watchTasks(browser, page) : undefined
        const [frames, floor, madeBefore] = [await watchFrames(page), await watchFrames(bare), tree.load.made()]
        spent += (await tree.cpuShareOf(each / parts)) / parts
        made += tree.load.made() - madeBefore
        const [own, ofBare] = [await frames(), await floor()]
        count += own.count
        longest = Math.max(longest, own.longest)
        longestBare = Math.max(longestBare, ofBare.longest)
        task = (await tasks?.()) ?? 0
        heaps.push(await heapOf(page))
      }
      rows.push([
        view,
        whole(made / each),
        whole(count / each),
        figure(longest),
        figure(longestBare),
        figure(task),
        heaps.map((megabytes) => figure(megabytes)).join(', '),
        percent(spent - alone)
      ])
    }
    printTable(
      `${seconds} s; the server alone takes ${percent(alone)} of a core, at ${whole(madeAlone / aloneSeconds)} events/s`,
      [
        'view',
        'events/s',
        'frames/s',
        'longest frame, ms',
        'of a bare page',
        'longest task, ms',
        `heap every ${whole(each / parts)} s, MB`,
        'server, of a core'
      ],
      rows
    )
  })
}

async function drain(url: string, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await fetch(url, { signal })
    for await (const chunk of body ?? []) void chunk
  } catch {
    // The end of the measurement.
  }
}
