// The board in a real browser: what it shows, what can be done on it, and what it never does.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { installed } from '../../src/support/installation.ts'
import { noBrowser as skip, openPage, startBrowser } from '../fixtures/browser.ts'
import { connect } from '../fixtures/clients.ts'
import { follow } from '../fixtures/event-stream.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { isFull } from '../fixtures/length.ts'
import { until } from '../fixtures/until.ts'
import { checkLook, looks } from './looks.ts'
import { playScene } from './scene.ts'

/** Where pictures of the pages are to be kept. */
const pictures = process.env['BOARD_PICTURES']

const browser = skip === false ? await startBrowser(t) : undefined

/** Each takes seconds: in the short form the program's own tests come first. */
function inFull(title: string, run: (t: Test) => Promise<void>): void {
  if (isFull || pictures !== undefined) void t.test(title, { skip }, run)
}

/** The view, and what is chosen and waited for in it. */
const views: readonly (readonly [string, (page: Page) => Promise<unknown>])[] = [
  [
    'Now',
    (page) =>
      page
        .locator('#files .row', { hasText: 'pool.ts' })
        .click()
        .then(() => page.getByRole('heading', { name: 'Held by' }).waitFor())
  ],
  [
    'Changes',
    async (page) => {
      await page
        .locator('#timeline .row', { has: page.locator('.kind.changed') })
        .first()
        .click()
      await page.getByRole('region', { name: 'Difference' }).waitFor()
      await page.locator('.versions li').first().waitFor()
    }
  ],
  [
    'Replay',
    async (page) => {
      await page.locator('#replay-files .row', { hasText: 'router.ts' }).click()
      await page.getByRole('region', { name: 'Text at this moment' }).waitFor()
    }
  ],
  [
    'Where it burns',
    async (page) => {
      await page.locator('.hot tbody tr').first().waitFor()
      await page.locator('.plot canvas').first().waitFor()
    }
  ]
]

t.test(
  'a holder, a waiter, a circle, a contention, a difference: shown without a reload, and acted upon',
  { skip },
  async (t) => {
    const tree = makeTree(t, { 'src/a.ts': 'one\ntwo\nthree\n', 'src/b.ts': 'b\n' })
    const { url } = await startServer(t, tree.root)
    const page = await openPage(t, browser)
    await page.goto(`${url}/board`)
    await page.getByText('No agent has called yet').waitFor()
    const [ann, bob, cy] = [
      await connect(t, 'rest', url, 'ann'),
      await connect(t, 'rest', url, 'bob'),
      await connect(t, 'rest', url, 'cy')
    ]

    await ann.call('lock_try', { filepaths: ['src/a.ts'], note: 'a longer change' })
    const waiting = bob.call('lock_wait', { filepaths: ['src/a.ts'], timeout_seconds: 60 })
    const row = page.locator('#files .row', { hasText: 'src/a.ts' })
    await row.getByText('1 waiting').waitFor()
    t.match(await row.textContent(), /ann.*a longer change.*left/s)
    await page.locator('#agents .row', { hasText: /bob.*lock_wait src\/a\.ts.*waits/s }).waitFor()
    await row.click()
    const detail = page.getByRole('region', { name: 'Details' })
    t.match(
      await detail.textContent(),
      /Held by.*ann.*exclusive lease.*a longer change.*In the queue.*bob.*gives up in/s
    )
    t.match(await page.getByRole('region', { name: 'Wait-for graph' }).textContent(), 'bob waits for ann at src/a.ts')

    await detail.getByRole('button', { name: 'Break the lease' }).click()
    const dialog = page.getByRole('dialog', { name: 'Break the lease?' })
    t.ok(await dialog.getByRole('button', { name: 'Break the lease' }).isDisabled(), 'not without a reason')
    await dialog.getByLabel('Reason').fill('ann has gone home')
    await dialog.getByRole('button', { name: 'Break the lease' }).click()
    t.match(await waiting, { all_acquired: true })
    await page.locator('#files .row', { hasText: 'bob' }).waitFor()
    t.match(JSON.stringify(await ann.call('async_status', { path: 'src/a.ts' })), 'ann has gone home')

    await cy.call('lock_try', { filepaths: ['src/b.ts'] })
    const blocked = bob.call('lock_wait', { filepaths: ['src/b.ts'], timeout_seconds: 60 })
    await page.getByText('2').first().waitFor()
    await until(async () => (await cy.call('async_status', { path: 'src/b.ts' }))['queue_depth'] === 1)
    t.match(await cy.call('lock_wait', { filepaths: ['src/a.ts'] }), { error_code: 'DEADLOCK' })
    const circle = page.locator('.circle')
    await circle.waitFor()
    t.match(await circle.textContent(), /Refused circle.*cy → src\/a\.ts → bob → src\/b\.ts → cy/s)
    await cy.call('lock_release_all')
    await blocked
    await bob.call('lock_release_all')
    await page.getByText('No file is held').waitFor()

    const { hash } = await ann.call('async_read', { path: 'src/a.ts' })
    await page.getByRole('link', { name: 'Changes' }).click()
    const numbers = { expected_hash: hash, content: 'one\n2\nthree\nfour\n', change_set: 'All in numbers' }
    await bob.call('async_update', { path: 'src/a.ts', ...numbers })
    await ann.call('async_update', { path: 'src/a.ts', expected_hash: hash, content: 'one\ntwo!\nthree\n' })
    await page.getByLabel('Kind').selectOption('contention')
    const line = page.locator('#timeline .row')
    await line.getByText('too late').waitFor()
    t.match(await line.textContent(), /contention.*src\/a\.ts.*ann/s)
    await page.getByLabel('Kind').selectOption('changed')
    await page.getByLabel('Path').fill('lib/**')
    await page.getByText('Nothing fits').waitFor()
    await page.getByLabel('Path').fill('src/*.ts')
    await line.getByText('lines 2, 4').waitFor()
    t.match(await line.textContent(), /bob.*, in All in numbers/)
    await page.getByLabel('Change set').fill('in words')
    await page.getByText('Nothing fits').waitFor()
    await page.getByLabel('Change set').fill('in numbers')
    await line.click()
    await detail.getByRole('button', { name: 'Show all of it' }).click()
    await until(async () => (await page.getByLabel('Path').inputValue()) === '')
    t.equal(await page.getByLabel('Change set').inputValue(), 'All in numbers')
    t.equal(await line.count(), 1, 'neither the contention nor the leases')
    const difference = page.getByRole('region', { name: 'Difference' })
    await difference.waitFor()
    t.match(await difference.locator('tr.removed').allTextContents(), ['2−two'])
    t.match(await difference.locator('tr.added').allTextContents(), ['2+2', '4+four'])
    await page.getByRole('button', { name: 'Side by side' }).click()
    t.match(await difference.locator('tr', { hasText: 'two' }).allTextContents(), ['2two22'])

    await page.locator('.versions').getByRole('button', { name: 'Restore' }).first().click()
    const restore = page.getByRole('dialog', { name: 'Restore this version?' })
    await restore.getByText('1 lines would come, 2 would go').waitFor()
    t.equal(tree.read('src/a.ts'), 'one\n2\nthree\nfour\n', 'only looked at so far')
    await restore.getByRole('button', { name: 'Restore' }).click()
    await until(() => tree.read('src/a.ts') === 'one\ntwo\nthree\n')
    await page.locator('.versions li', { hasText: 'board' }).waitFor()

    await page.getByRole('link', { name: 'Where it burns' }).click()
    const chart = (what: string) => page.getByRole('img', { name: what })
    await chart('Changes by agent, from').waitFor()
    t.match(await chart('Changes by agent').getAttribute('aria-label'), /: .*bob 1/)
    t.match(await chart('Contentions by agent').getAttribute('aria-label'), /: ann 1$/)
    t.match(await chart('Merges by agent').getAttribute('aria-label'), /: none$/)
    await page.getByRole('button', { name: 'By folder' }).click()
    await page.getByRole('combobox', { name: 'in the last' }).selectOption('15')
    await chart('Waits by folder').waitFor()
    t.match(page.url(), /#burns\?.*by=folder.*minutes=15|#burns\?.*minutes=15.*by=folder/)
    await page.reload()
    await chart('Changes by folder').waitFor()
    const [, from = '', to = ''] =
      /from (\S+) to (\S+):.* src\/ 2$/.exec((await chart('Changes by folder').getAttribute('aria-label')) ?? '') ?? []
    t.ok(from !== '' && to !== '' && from !== to, 'what was before the page was loaded, and the whole axis')
  }
)

inFull('a chart stays as it is, and not its data, when another agent leads', async (t) => {
  const { url } = await startServer(t, makeTree(t, {}).root)
  const write = async (agent: string, path: string) =>
    (await connect(t, 'rest', url, agent)).call('async_write', { path, content: path })
  await write('ann', 'a')
  const page = await openPage(t, browser)
  await page.goto(`${url}/board#burns`)
  const changes = (words: string) => page.locator(`[role=img][aria-label^="Changes by agent"][aria-label$="${words}"]`)
  await changes(': ann 1').waitFor()
  await write('bob', 'b')
  await changes(', bob 1').or(changes(', ann 1')).waitFor()
  await page.evaluate(`for (const canvas of document.querySelectorAll('.charts canvas')) canvas.isOld = true`)
  const [first, last] = (await changes(': bob 1, ann 1').count()) === 1 ? ['bob', 'ann'] : ['ann', 'bob']
  await write(last, 'c')
  await changes(`: ${last} 2, ${first} 1`).waitFor()
  t.equal(await page.evaluate(`[...document.querySelectorAll('.charts canvas')].filter((one) => one.isOld).length`), 4)
})

inFull('a restore over a version that was not looked at is refused, and looked at again', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  const { hash } = await ann.call('async_read', { path: 'f' })
  await ann.call('async_update', { path: 'f', expected_hash: hash, content: 'two\n' })
  const page = await openPage(t, browser, { mayFail: /409/ })
  await page.goto(`${url}/board#changes`)
  await page.locator('#timeline .row').first().click()
  await page.locator('.versions').getByRole('button', { name: 'Restore' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 lines would come, 1 would go').waitFor()
  tree.write('f', 'three\nfour\n')
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await dialog.getByText('1 lines would come, 2 would go').waitFor()
  t.equal(tree.read('f'), 'three\nfour\n')
  t.ok(await dialog.getByRole('alert').isVisible(), 'says why')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

t.test('markup in names, notes and contents is text', { skip }, async (t) => {
  const markup = '<img src=x onerror="window.hit=1">'
  const file = `${markup.replaceAll('/', '')}.txt`
  const tree = makeTree(t, { [file]: 'one\n' })
  const { url } = await startServer(t, tree.root)
  const [one, two] = [await connect(t, 'rest', url, undefined), await connect(t, 'rest', url, undefined)]
  const [first, second] = [`${markup}1`, `"><script>window.hit=2</script>`]
  await one.call('lock_try', { filepaths: [file], note: markup, agent_id: first })
  const waiting = two.call('lock_wait', { filepaths: [file], note: second, agent_id: second, timeout_seconds: 60 })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .row').getByText('1 waiting').waitFor()
  await page.locator('#files .row').click()
  const shown = (await page.locator('body').textContent()) ?? ''
  for (const text of [markup, file, first, second]) t.ok(shown.includes(text), `shows ${text}`)
  const { hash } = await one.call('async_read', { path: file, agent_id: first })
  const content = `${markup}\n</td></table><script>window.hit=3</script>\n`
  await one.call('async_update', { path: file, expected_hash: hash, content, agent_id: first })
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByLabel('Kind').selectOption('changed')
  await page.locator('#timeline .row').first().click()
  await page.getByRole('region', { name: 'Difference' }).getByText('</td></table><script>').waitFor()
  await one.call('lock_release_all', { agent_id: first })
  await waiting
  await page.getByRole('link', { name: 'Where it burns' }).click()
  await page.locator('.hot').getByText(file).waitFor()
  t.equal(await page.locator('img, script:not([src])').count(), 0, 'none of it is an element')
  t.equal(await page.evaluate('globalThis.hit'), undefined)
})

inFull('a token is asked for, and kept by the tab alone', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: '' }).root, { daemon: { token: 'sesame' } })
  const page = await openPage(t, browser, { mayFail: /401/ })
  await page.goto(`${url}/board`)
  await page.getByLabel('Token').fill('open up')
  await page.getByRole('button', { name: 'Show the board' }).click()
  await page.getByRole('alert').getByText('Bearer token missing or wrong').waitFor()
  await page.getByLabel('Token').fill('sesame')
  await page.getByRole('button', { name: 'Show the board' }).click()
  await page.getByText('No agent has called yet').waitFor()
  await page.reload()
  await page.getByText('No agent has called yet').waitFor()
  const kept = await page.evaluate('[JSON.stringify({ ...sessionStorage }), localStorage.length, document.cookie]')
  t.match(kept, [/sesame/, 0, ''])
  t.notMatch(page.url(), 'sesame')
  const other = await page.context().newPage()
  await other.goto(`${url}/board`)
  await other.getByLabel('Token').waitFor()
})

inFull('a lost connection is shown, and what was missed is caught up with', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const wire = await startWire(t)
  const { url } = await startServer(t, tree.root, { daemon: { allowed_hosts: [`127.0.0.1:${wire.port}`] } })
  wire.leadTo(Number(new URL(url).port))
  const ann = await connect(t, 'rest', url, 'ann')
  const page = await openPage(t, browser, { mayFail: /ERR_/ })
  await page.goto(`http://127.0.0.1:${wire.port}/board#changes`)
  await page.getByRole('status').getByText('Live').waitFor()
  await page.getByText('Nothing has changed').waitFor()
  wire.cut()
  await page.getByRole('status').getByText('Connection lost').waitFor()
  await ann.call('async_write', { path: 'g', content: 'new\n' })
  await ann.call('lock_try', { filepaths: ['f'] })
  wire.mend()
  await page.getByRole('status').getByText('Live').waitFor()
  await page.locator('#timeline .row .kind.lease').waitFor()
  t.equal(await page.locator('#timeline .row .kind.created').count(), 1, 'the change came once')
})

inFull('a board too many says so, and takes the place that another one leaves', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root, { events: { max_subscribers: 1 } })
  const first = await follow(t, url)
  const page = await openPage(t, browser, { mayFail: /503/ })
  await page.goto(`${url}/board`)
  await page.getByRole('status').getByText('Too many boards are open, trying again').waitFor()
  const refused = await fetch(`${url}/events`)
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error_code: 'OVERLOADED', message: /events\.max_subscribers/ })
  first.close()
  await page.getByRole('status').getByText('Live').waitFor()
})

inFull('times are by the clock of the server', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('lock_try', { filepaths: ['f'], ttl_seconds: 300 })
  for (const hours of [-5, 5]) {
    const page = await openPage(t, browser)
    await page.addInitScript((ms) => {
      const { now } = Date
      Date.now = () => now() + ms
    }, hours * 3_600_000)
    await page.goto(`${url}/board`)
    const row = page.locator('#files .row')
    await row.waitFor()
    t.match(await row.textContent(), /(5 min|2\d\d s) left/, `a browser ${hours} h ahead`)
    t.match(await page.locator('#agents .row time').textContent(), /now|\d+ s ago/)
  }
})

inFull('the keyboard does what the mouse does', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: '', g: '', h: '', 'src/once.ts': '', 'src/never.ts': '' }).root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('lock_try', { filepaths: ['f', 'g', 'h'] })
  const page = await openPage(t, browser)
  await page.goto(`${url}/board`)
  await page.locator('#files .row').nth(2).waitFor()
  const list = page.getByRole('listbox', { name: 'Files in use' })
  await list.focus()
  for (const [key, name] of [
    ['ArrowDown', 'f'],
    ['ArrowDown', 'g'],
    ['End', 'h'],
    ['ArrowUp', 'g'],
    ['Home', 'f']
  ] as const) {
    await page.keyboard.press(key)
    const chosen = page.getByRole('option', { selected: true })
    await chosen.getByText(name, { exact: true }).waitFor()
    t.equal(await list.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'), `${key} chooses ${name}`)
  }
  await ann.call('lock_try', { filepaths: ['a-first'] })
  await page.locator('#files .row', { hasText: 'a-first' }).waitFor()
  const chosen = page.getByRole('option', { selected: true })
  await chosen.getByText('f', { exact: true }).waitFor()
  t.equal(await list.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'), 'though it has moved')
  await page.keyboard.press('ArrowUp')
  await chosen.getByText('a-first').waitFor()

  await ann.call('async_read', { path: 'src/once.ts' })
  await page.keyboard.press('/')
  const finder = page.getByRole('dialog', { name: 'Find an agent or a file' })
  await finder.waitFor()
  await page.keyboard.type('ON')
  await finder.getByRole('option', { name: 'src/once.ts' }).waitFor()
  await page.keyboard.type('CE/')
  await finder.getByText('Nothing has this in its name').waitFor()
  for (let count = 0; count < 5; count += 1) await page.keyboard.press('Backspace')
  await page.keyboard.type('n')
  await finder.getByRole('option', { name: 'src/once.ts' }).waitFor()
  t.match(await finder.getByRole('option', { selected: true }).textContent(), 'ann', 'agents first')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Details' }).getByText('src/once.ts').waitFor()
  await page.keyboard.press('/')
  await finder.waitFor()
  await page.keyboard.type('never')
  await finder.getByRole('option', { name: 'src/never.ts' }).waitFor()
  await page.keyboard.press('Escape')
  await finder.waitFor({ state: 'detached' })
})

/** What the documentation shows. */
const pictured = ['now-light', 'now-dark', 'now-narrow', 'changes-light', 'replay-light', 'burns-light']
const pictureOf: Readonly<Record<string, string>> = {
  '1440 px, light': 'light',
  '1440 px, dark': 'dark',
  '390 px, light': 'narrow'
}

inFull('the views have no barrier at any width, light and dark, and tell each row from every other', async (t) => {
  // Six looks at every view: minutes on a busy machine.
  t.setTimeout(900_000)
  const { url, meet } = await playScene(t)
  for (const { name, options } of looks) {
    const page = await openPage(t, browser, options)
    await page.goto(`${url}/board`)
    await page.locator('#files .row').first().waitFor()
    await page.getByRole('region', { name: 'Needs attention' }).waitFor()
    // What happens while the page is open is in its timeline, too: those who came too late.
    await meet()
    for (const [view, ready] of views) {
      await page.getByRole('link', { name: view }).click()
      await ready(page)
      await checkLook(t, page, `${view}, ${name}`)
      const picture = `${view.split(' ').at(-1)?.toLowerCase()}-${pictureOf[name]}`
      if (pictures !== undefined && pictured.includes(picture)) await keepPicture(page, pictures, picture)
    }
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'A part of the name' }).fill('o')
    await page.getByRole('option', { name: 'router.ts' }).waitFor()
    await checkLook(t, page, `the finder, ${name}`)
    await page.keyboard.press('Escape')
    await page.context().close()
  }
})

async function keepPicture(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await page.mouse.move(0, 0)
  await page.screenshot({ path: `${folder}/board-${name}.png` })
}

/** How far two pictures differ in a channel of a pixel, of 255, on the average. */
const difference = `async (pictures) => {
  const [one, other] = await Promise.all(pictures.map(async (picture) => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + picture)).blob())
    const context = new OffscreenCanvas(512, 512).getContext('2d')
    context.drawImage(image, 0, 0)
    return context.getImageData(0, 0, 512, 512).data
  }))
  return one.reduce((sum, value, index) => sum + Math.abs(value - other[index]), 0) / one.length
}`

t.test('the icon of the packages is that of the board', { skip }, async (t) => {
  const page = await openPage(t, browser, { viewport: { width: 512, height: 512 } })
  await page.setContent(`<body style="margin: 0">${readFileSync(installed('board/icon.svg'), 'utf8')}</body>`)
  const drawn = await page.screenshot({ omitBackground: true })
  if (pictures !== undefined) writeFileSync(`${pictures}/icon.png`, drawn)
  const kept = readFileSync(installed('docs/images/icon.png'))
  const [one, other] = [drawn, kept].map((picture) => picture.toString('base64'))
  // Versions of Chromium draw edges differently.
  const differs = (await page.evaluate(`(${difference})(${JSON.stringify([one, other])})`)) as number
  t.ok(differs < 1, `they differ by ${differs}`)
})

/** A connection between browser and server that can be cut. */
async function startWire(t: { teardown(fn: () => unknown): void }) {
  const sockets = new Set<Socket>()
  let target = 0
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connectTcp(target, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => [near, far].forEach((each) => each.destroy()))
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port: number) => (target = port),
    cut(): void {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend: () => (isCut = false)
  }
}
