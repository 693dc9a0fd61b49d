// Edges of the three operations where the world outside, the settings or the size of things come in.
import { request } from 'node:http'
import { connect as connectTo } from 'node:net'
import { linkSync, symlinkSync, writeFileSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import t from 'tap'
import { Directory } from '../../../src/engine/files/directory.ts'
import { createSurveyor } from '../../../src/engine/files/survey.ts'
import { connect } from '../../fixtures/clients.ts'
import { holdLock } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { cannotLink } from '../../fixtures/links.ts'

t.test('an insert of very many lines is one edit like any other', async (t) => {
  const tree = makeTree(t, { f: 'last\r\n' })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const lines = 300_000
  const edits = [{ line: 1, operation: 'insert', content: 'y\n'.repeat(lines) }]
  t.strictSame(await client.call('edit_file', { name: 'f', edits }), {
    success: true,
    lines_modified: lines,
    file_created: false,
    new_total_lines: lines + 1
  })
  t.ok(tree.read('f') === `${'y\r\n'.repeat(lines)}last\r\n`)
})

t.test('a file that somebody outside creates at the same moment is edited, not refused', async (t) => {
  for (const [name, input] of [
    ['edit_file', { name: 'f', append: 'mine', create_if_missing: true }],
    ['async_append', { path: 'f', content: 'mine\n', create_if_missing: true }]
  ] as const) {
    const tree = makeTree(t)
    const { app } = await startServer(t, tree.root)
    const signal = new AbortController().signal
    // The call has looked, found nothing, and now waits for the disk.
    const answer = app.call(name, input, { caller: { transport: 'internal' }, signal })
    writeFileSync(tree.path('f'), 'theirs\n')
    await answer
    t.equal(tree.read('f'), 'theirs\nmine\n', name)
  }
})

t.test('reading and editing wait as long as the settings say, and then answer 409', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const server = await startServer(t, tree.root, { crud: { default_timeout: 0 } })
  const held = await holdLock(server, tree.path('f'))
  for (const name of ['read_file', 'edit_file']) {
    const response = await fetch(`${server.url}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"f"}'
    })
    t.equal(response.status, 409, name)
    t.match(await response.json(), { error: { code: -32001, data: { details: /^LOCK_TIMEOUT/ } } })
  }
  held.release()
})

t.test('the envelope is that of the route, however its URL is spelt', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const { host, port } = new URL(url)
  for (const path of ['/%72ead_file', `http://${host}/read_file`]) {
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', host }
      request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += String(chunk))).on('end', () => resolve(text))
      })
        .on('error', reject)
        .end('{"name":"none"}')
    })
    t.match(JSON.parse(answer), { error: { code: -32001, data: { operation: 'read_file' } } }, path)
  }
})

t.test('readable and writable tell of names, links and settings', { skip: cannotLink }, async (t) => {
  const tree = makeTree(t, { 'a b.txt': '', two: '', '.git/config': '', plain: '' })
  linkSync(tree.path('two'), tree.path('two-too'))
  symlinkSync('.git/config', tree.path('cfg'))
  const { url } = await startServer(t, tree.root, { crud: { hardlinks: 'refuse' } })
  const { files } = await (await connect(t, 'rest', url)).call('list_files')
  t.match(files, [
    { name: 'a b.txt', readable: false, writable: false },
    { name: 'cfg', readable: true, writable: false },
    { name: 'plain', readable: true, writable: true },
    { name: 'two', readable: true, writable: false },
    { name: 'two-too', readable: true, writable: false }
  ])
})

t.test('what could not be read for a moment is looked at again', async (t) => {
  const tree = makeTree(t, { f: 'one\ntwo\n' })
  const directory = Directory.open(tree.root)
  t.teardown(() => directory.close())
  const options = { maxFileBytes: 100, maxSyncBytes: 100, hardlinks: 'break', isProtected: () => false }
  const surveyor = createSurveyor(options)
  // Stamps that are trusted: of a file that has not changed for long.
  const fresh = directory.stat('f') as BigIntStats
  const stat = {
    ...fresh,
    ctimeNs: fresh.ctimeNs - 10_000_000_000n,
    isFile: () => true,
    mtime: fresh.mtime
  } as BigIntStats
  const linesOf = async (entryName: string) => {
    const survey = surveyor.begin((bytes) => bytes.toString().split('\n').length - 1)
    await survey.add({ name: 'f', stat, directory, entryName, path: 'f', isReplaceable: true })
    return survey.finish()[0]?.lines
  }
  t.equal(await linesOf('gone'), -1)
  t.equal(await linesOf('f'), 2)
})

t.test('an answer goes out also where garbage follows its request, and garbage alone is answered', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const { host, port } = new URL(url)
  const exchange = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let received = ''
      const socket = connectTo(Number(port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (chunk) => (received += String(chunk)))
      socket.on('close', () => resolve(received)).on('error', reject)
    })
  const body = '{"name":"f","append":"x","create_if_missing":true}'
  const head = `POST /edit_file HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  const answer = await exchange(`${head}${body}GARBAGE\r\n\r\n`)
  t.match(answer, /^HTTP\/1\.1 200 OK/)
  t.match(answer, '"file_created":true')
  t.equal(tree.read('f'), 'x\n')
  t.match(await exchange('GARBAGE\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request[^]*INVALID_REQUEST/)
})

t.test('who recreated a deleted file from outside is named by contention', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const { hash } = await client.call('async_read', { path: 'f' })
  await client.call('async_delete', { path: 'f' })
  writeFileSync(tree.path('f'), 'two\n')
  const update = { path: 'f', expected_hash: hash as string, content: 'three' }
  t.match(await client.call('async_update', update), {
    status: 'contention',
    base_known: true,
    modified_by: [{ operation: 'async_delete' }, { agent_id: 'external' }]
  })
  const foreign = { ...update, expected_hash: `sha256:${'0'.repeat(64)}` }
  const other = await connect(t, 'rest', (await startServer(t, tree.root)).url)
  t.match(await other.call('async_update', foreign), { base_known: false, modified_by: [] }, 'nobody is made up')
})
