// The board at its largest: 500 agents, 10,000 files in use, 200 events a second; what the page and the server pay for it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { noBrowser, startBrowser } from '../../test/fixtures/browser.ts'
import { startBusyTree, type BusyTree } from '../../test/harness/board/busy-tree.ts'
import { heapOf, watchFrames, watchTasks } from '../../test/harness/board/page-meter.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const eventsPerSecond = 200
const views = ['Now', 'Changes', 'Where it burns']
/** The heap is looked at after each: a collection would hold up a frame. */
const parts = 4
const viewport = { width: 1280, height: 800 }
/** Of the server, with the board and without: in turn, since the machine has other work at one time than at another. */
const serverRounds = 3
const roundMs = 6000
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
    const page = await (await browser.newContext({ viewport })).newPage()
    await openBoard(page, tree)
    const rows: string[][] = []
    for (const view of views) {
      await page.getByRole('link', { name: view }).click()
      await sleep(settleMs)
      const heaps = [await heapOf(page)]
      let [made, count, longest, longestBare, task] = [0, 0, 0, 0, 0]
      for (let part = 1; part <= parts; part += 1) {
        // Those of all of a long run are too many to be kept.
        const tasks = part === parts ? await watchTasks(browser, page) : undefined
        const [frames, floor, madeBefore] = [await watchFrames(page), await watchFrames(bare), tree.load.made()]
        await sleep((each / parts) * 1000)
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
        heaps.map((megabytes) => figure(megabytes)).join(', ')
      ])
    }
    printTable(
      `${seconds} s`,
      [
        'view',
        'events/s',
        'frames/s',
        'longest frame, ms',
        'of a bare page',
        'longest task, ms',
        `heap every ${whole(each / parts)} s, MB`
      ],
      rows
    )
    await printServer(tree, page)
  })
}

async function openBoard(page: Page, { url }: BusyTree): Promise<void> {
  await page.goto(`${url}/board`)
  await page.locator('#files .row').first().waitFor({ timeout: 60_000 })
}

/** What the server spends, of one core, while no board is open, and while one shows each view. */
async function printServer(tree: BusyTree, page: Page): Promise<void> {
  const cases = ['no board', ...views]
  const shares: Record<string, number[]> = Object.fromEntries(cases.map((name) => [name, []]))
  for (let round = 0; round < serverRounds; round += 1)
    for (const name of cases) {
      await page.goto('about:blank')
      if (name !== 'no board') {
        await openBoard(page, tree)
        await page.getByRole('link', { name }).click()
      }
      await sleep(settleMs)
      shares[name]?.push(await tree.cpuShareOf(roundMs / 1000))
    }
  printTable(
    `what the server takes, in turn, ${serverRounds} times ${roundMs / 1000} s each`,
    ['shown', 'of a core', 'more than without'],
    cases.map((name) => {
      const own = shares[name] ?? []
      const more = own.map((share, round) => share - (shares['no board']?.[round] ?? NaN))
      return [name, percent(median(own)), percent(median(more))]
    })
  )
}

async function drain(url: string, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await fetch(url, { signal })
    for await (const chunk of body ?? []) void chunk
  } catch {
    // The end of the measurement.
  }
}
