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
const viewport = { width: 1280, height: 800 }
/** As long as the page may rest between two readings of what is long, and once more. */
const settleMs = 5000

export async function board({ seconds = 45, agents = 500, files = 10_000 }: Options): Promise<void> {
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
    const rows: string[][] = []
    const each = seconds / views.length
    await sleep(settleMs)
    const alone = await tree.cpuShareOf(each)
    const page = await (await browser.newContext({ viewport })).newPage()
    await page.goto(`${tree.url}/board`)
    await page.locator('#files .row').first().waitFor({ timeout: 60_000 })
    let cost = 0
    for (const view of views) {
      await page.getByRole('link', { name: view }).click()
      await sleep(settleMs)
      const heapBefore = await heapOf(page)
      const tasks = await watchTasks(browser, page)
      const [frames, floor, madeBefore] = [await watchFrames(page), await watchFrames(bare), tree.load.made()]
      const spent = await tree.cpuShareOf(each)
      const made = tree.load.made() - madeBefore
      const [{ count, longest }, { longest: longestBare }] = [await frames(), await floor()]
      const task = await tasks()
      cost = Math.max(cost, spent - alone)
      rows.push([
        view,
        whole(made / each),
        whole(count / each),
        figure(longest),
        figure(longestBare),
        figure(task),
        figure(heapBefore),
        figure(await heapOf(page)),
        percent(spent - alone)
      ])
    }
    printTable(
      `${seconds} s; the server alone takes ${percent(alone)} of a core`,
      [
        'view',
        'events/s',
        'frames/s',
        'longest frame, ms',
        'of a bare page',
        'longest task, ms',
        'heap before, MB',
        'heap after, MB',
        'server, of a core'
      ],
      rows
    )
    console.log(`board: the server pays at most ${percent(cost)} of a core`)
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
