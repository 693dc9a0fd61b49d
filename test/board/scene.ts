// A tree with agents that hold, wait, contend and merge: what the pictures of the documentation show.
import { connect, type TestClient } from '../fixtures/clients.ts'
import { startServer, type TestServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

interface Owner {
  teardown(fn: () => unknown): void
}

const routerText = [
  "import { pages } from './pages.ts'",
  '',
  'export function route(path: string) {',
  '  const page = pages.get(path)',
  '  if (page === undefined) return notFound(path)',
  '  return page.render()',
  '}',
  '',
  'function notFound(path: string) {',
  "  return { status: 404, body: 'no such page: ' + path }",
  '}',
  ''
].join('\n')

const guideText = [
  '# Guide',
  '',
  '## Begin',
  '',
  'Install it.',
  '',
  '## Use',
  '',
  'Call it.',
  '',
  '## End',
  '',
  'Stop it.',
  ''
].join('\n')

export async function playScene(t: Owner): Promise<TestServer & { meet: () => Promise<void> }> {
  const tree = makeTree(t, {
    'storefront/src/router.ts': routerText,
    'storefront/src/pages.ts': 'export const pages = new Map()\n',
    'storefront/src/cart/totals.ts': 'export const total = 0\n',
    'storefront/src/cart/session.ts': 'export const session = {}\n',
    'storefront/src/db/pool.ts': 'export const pool = []\n',
    'storefront/docs/guide.md': guideText
  })
  const server = await startServer(t, tree.path('storefront'), {
    locks: { long_wait_seconds: 1, lease_ttl_seconds: 3600 }
  })
  const names = ['ada', 'brook', 'cleo', 'dev', 'elm', 'finn'] as const
  const agents = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await connect(t, 'rest', server.url, name)] as const))
  ) as Record<(typeof names)[number], TestClient>
  const { ada, brook, cleo, dev, elm, finn } = agents
  const meet = () => meetAgain(ada, brook, cleo, dev)
  // Changes are events only while a board, or another client, follows.
  const stream = new AbortController()
  t.teardown(() => stream.abort())
  await fetch(`${server.url}/events`, { signal: stream.signal })

  await meet()
  await dev.call('async_write', { path: 'docs/releases.md', content: '# Releases\n\nNone yet.\n' })
  await dev.call('async_rename', { old_path: 'docs/releases.md', new_path: 'docs/news.md' })

  await elm.call('lock_try', {
    filepaths: ['src/db/pool.ts', 'src/pages.ts'],
    note: 'moves the pool to its own module'
  })
  await finn.call('lock_try', { filepaths: ['src/cart/session.ts'], note: 'sessions in the database' })
  void wait(finn, 'src/db/pool.ts')
  await untilQueued(elm, 'src/db/pool.ts', 1)
  void wait(ada, 'src/db/pool.ts')
  void wait(brook, 'src/cart/session.ts')
  await untilQueued(elm, 'src/db/pool.ts', 2)
  await untilQueued(elm, 'src/cart/session.ts', 1)
  await elm.call('lock_wait', { filepaths: ['src/cart/session.ts'], timeout_seconds: 60 })
  await cleo.call('lock_try', { filepaths: ['src/cart/totals.ts'], mode: 'shared', note: 'reads along' })
  const left = dev.call('lock_wait', { filepaths: ['src/cart/totals.ts'], timeout_seconds: 0.4 })
  await left
  return { ...server, meet }
}

/** Some come too late, and some of those are merged. */
async function meetAgain(ada: TestClient, brook: TestClient, cleo: TestClient, dev: TestClient): Promise<void> {
  for (const [index, words] of ['a page that is missing', 'nothing here', 'no page'].entries()) {
    const path = 'src/router.ts'
    const { hash } = await ada.call('async_read', { path })
    const content = routerText.replace('no such page: ', `${words}: `)
    await brook.call('async_update', { path, expected_hash: hash, content: `${content}// ${index}, ${hash}\n` })
    await ada.call('async_update', { path, expected_hash: hash, content: routerText.replace('404', '410') })
  }
  for (const step of ['first', 'second', 'third', 'fourth']) {
    const path = 'docs/guide.md'
    const { hash, content } = (await cleo.call('async_read', { path })) as { hash: string; content: string }
    await dev.call('async_update', {
      path,
      expected_hash: hash,
      content: content.replace(/Stop it.*/, `Stop it, ${step}.`)
    })
    const mine = content.replace(/Install it.*/, `Install it, ${step}.`)
    await cleo.call('async_update', { path, expected_hash: hash, content: mine, on_contention: 'merge' })
  }
}

/** As long as the server runs: fetch gives up after five minutes, and a slow machine may take longer for the pictures. */
async function wait(agent: TestClient, path: string): Promise<void> {
  const again = async () => (await agent.call('lock_wait', { filepaths: [path], timeout_seconds: 290 }))['status']
  while ((await again().catch(() => 'error')) !== 'error');
}

async function untilQueued(agent: TestClient, path: string, count: number): Promise<void> {
  await until(async () => (await agent.call('async_status', { path }))['queue_depth'] === count)
}
