// What each view of the board must be at every width, light and dark: without barriers, and with every row told from every other.
import axe, { type AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'

export interface Look {
  readonly name: string
  readonly options: BrowserContextOptions
}

/** A phone, a tablet, a desk. */
export const looks: readonly Look[] = [390, 1024, 1440].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    name: `${width} px, ${colorScheme}`,
    options: {
      viewport: { width, height: width < 640 ? 780 : 820 },
      colorScheme,
      // For axe, which is put into the page.
      bypassCSP: true,
      reducedMotion: 'reduce'
    }
  }))
)

export async function checkLook(t: Test, page: Page, what: string): Promise<void> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  const barriers = violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html)
        .join(' ')}`
  )
  t.strictSame(barriers, [], `${what}: no barrier that axe-core finds`)
  const { wider, moving, cut, same } = (await page.evaluate(measure)) as Measured
  t.ok(wider <= 0, `${what}: nothing sticks out`)
  t.equal(moving, 0, `${what}: nothing moves where less motion is wished`)
  t.strictSame(cut, [], `${what}: no text is cut without an ellipsis`)
  t.strictSame(same, [], `${what}: no two rows show the same text`)
}

interface Measured {
  /** How far the page is wider than the window. */
  readonly wider: number
  /** Elements that move. */
  readonly moving: number
  /** Texts that a box cuts off. */
  readonly cut: readonly string[]
  /** What several rows of one list show alike. */
  readonly same: readonly string[]
}

/** A text is cut by the first box around it that neither shows nor scrolls what is outside of it. */
const measure = `(() => {
  const slack = 1.5
  const isUnseen = (each) => each.closest('.unseen, select, datalist, title, script, style, svg') !== null
  const rectOf = (node, start, end) => {
    const range = document.createRange()
    range.setStart(node, start)
    range.setEnd(node, end)
    return range.getBoundingClientRect()
  }
  const clips = (style) => style.overflowX === 'hidden' || style.overflowX === 'clip'
  const boxOf = (node) => {
    for (let each = node.parentElement; each !== null; each = each.parentElement) {
      const style = getComputedStyle(each)
      if (style.overflowX === 'auto' || style.overflowX === 'scroll') return undefined
      if (clips(style)) return { rect: each.getBoundingClientRect(), hasEllipsis: style.textOverflow === 'ellipsis' && style.display !== 'flex' }
    }
    return undefined
  }
  const textsIn = (element) => {
    const found = []
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
      if (node.data.trim() !== '' && !isUnseen(node.parentElement)) found.push(node)
    return found
  }
  const isOutside = (rect, box) => rect.right > box.right + slack || rect.left < box.left - slack
  const isBelow = (rect, box) => rect.top + rect.height / 2 > box.bottom
  const cut = []
  for (const node of textsIn(document.body)) {
    const box = boxOf(node)
    if (box === undefined) continue
    const rect = rectOf(node, 0, node.length)
    if (rect.width === 0 || rect.height === 0) continue
    if (isBelow(rect, box.rect) || (isOutside(rect, box.rect) && !box.hasEllipsis)) cut.push(node.data.trim())
  }
  const shownOf = (node) => {
    const box = boxOf(node)
    if (box === undefined || !isOutside(rectOf(node, 0, node.length), box.rect)) return node.data
    return [...node.data].filter((_, index) => !isOutside(rectOf(node, index, index + 1), box.rect)).join('') + '…'
  }
  const same = []
  for (const list of document.querySelectorAll('.rows, .plain, .feed, #finder-hits')) {
    const rows = [...list.children].map((row) => textsIn(row).map(shownOf).join(' ').replace(/\\s+/g, ' ').trim())
    rows.forEach((row, index) => rows.indexOf(row) !== index && same.push(row))
  }
  const moving = [...document.querySelectorAll('*')].filter((each) => parseFloat(getComputedStyle(each).transitionDuration) > 0)
  return { wider: document.documentElement.scrollWidth - innerWidth, moving: moving.length, cut, same }
})()`

/** From now on. @returns what a screen reader would have said of itself */
export async function listenTo(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`
    globalThis.said_ = []
    new MutationObserver((changes) => {
      for (const { target, oldValue } of changes) {
        const live = (target.closest ? target : target.parentElement)?.closest('[role=status], [role=alert], [aria-live]')
        // An empty text is drawn anew each time.
        if (live != null && (target.data === undefined || oldValue !== target.data)) globalThis.said_.push(live.textContent)
      }
    }).observe(document.body, { childList: true, characterData: true, characterDataOldValue: true, subtree: true })`)
  return () => page.evaluate<string[]>('globalThis.said_')
}
