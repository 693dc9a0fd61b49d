// Twelve writers on one file of one program, over three ways in at once: nothing that was acknowledged is lost, doubled or torn.
import t from 'tap'
import { connect, type Answer, type TestClient, type TransportName } from '../../fixtures/clients.ts'
import { startStdio, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'

const linesPerWriter = lengthOf({ full: 20, short: 4 })
const head = '# head'
/** Long and of more than one byte a character, so that a torn line would show. */
const filler = '\u00e9\u{1f600}'.repeat(40)

interface Writer {
  readonly name: string
  /** How often it came too late. */
  contentions: number
  write(line: string): Promise<void>
}

t.test('REST edit_file, JSON-RPC edit_file and MCP async_update lose nothing to one another', async (t) => {
  const tree = makeTree(t, { f: `${head}\n` })
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'dual'])
  const url = await program.url()
  const mcp = (transport: TransportName) => connect(t, transport, url)
  const writers: Writer[] = [
    ...(await Promise.all([1, 2, 3, 4].map(async (n) => restWriter(`rest-${n}`, await connect(t, 'rest', url))))),
    ...[1, 2, 3, 4].map((n) => rpcWriter(`rpc-${n}`, program)),
    patchWriter('patch-2026', await mcp('mcp-2026')),
    patchWriter('patch-2025', await mcp('mcp-2025')),
    wholeWriter('whole-2026', await mcp('mcp-2026')),
    wholeWriter('whole-2025', await mcp('mcp-2025'))
  ]
  const lineOf = (name: string, index: number) => `${name} ${index} ${filler} ${name} ${index}`
  const lines = Array.from({ length: linesPerWriter }, (_, index) => index)

  await Promise.all(
    writers.map(async (writer) => {
      for (const index of lines) await writer.write(lineOf(writer.name, index))
    })
  )

  const found = tree.read('f').split('\n')
  t.equal(found.pop(), '', 'the file ends with a line break')
  const wanted = writers.flatMap(({ name }) => lines.map((index) => lineOf(name, index)))
  t.strictSame([...found].sort(), [head, ...wanted].sort(), 'every acknowledged line once, and nothing else')
  for (const { name } of writers) {
    const own = found.filter((line) => line.startsWith(`${name} `))
    const inOrder = lines.map((index) => lineOf(name, index))
    t.strictSame(own, name.startsWith('patch') ? inOrder.reverse() : inOrder, `${name} finds its lines in its order`)
  }
  for (const { name, contentions } of writers.slice(8))
    t.ok(contentions > 0, `${name} came too late ${contentions} times`)
  t.match((await program.call('read_file', { name: 'f' })).result, { total_lines: found.length })
})

function restWriter(name: string, client: TestClient): Writer {
  return {
    name,
    contentions: 0,
    async write(append) {
      expectSuccess(await client.call('edit_file', { name: 'f', append }))
    }
  }
}

function rpcWriter(name: string, program: StdioProgram): Writer {
  return {
    name,
    contentions: 0,
    async write(append) {
      const { result, error } = await program.call('edit_file', { name: 'f', append })
      expectSuccess(result ?? { error })
    }
  }
}

/** Puts its line behind the first one. After contention it tries the same patch on the version that the answer names. */
function patchWriter(name: string, client: TestClient): Writer {
  return {
    name,
    contentions: 0,
    async write(line) {
      const patches = [{ old_string: `${head}\n`, new_string: `${head}\n${line}\n` }]
      let expected_hash = await hashOf(client)
      for (;;) {
        const answer = await client.call('async_update', { path: 'f', expected_hash, patches })
        if (answer['status'] === 'ok') return
        expectContention(answer)
        this.contentions += 1
        expected_hash = answer['current_hash'] as string
      }
    }
  }
}

/** Writes the whole file with its line at the end. After contention it reads the file again. */
function wholeWriter(name: string, client: TestClient): Writer {
  return {
    name,
    contentions: 0,
    async write(line) {
      for (;;) {
        const { content, hash } = await client.call('async_read', { path: 'f' })
        const input = { path: 'f', expected_hash: hash, content: `${content}${line}\n` }
        const answer = await client.call('async_update', input)
        if (answer['status'] === 'ok') return
        expectContention(answer)
        this.contentions += 1
      }
    }
  }
}

async function hashOf(client: TestClient): Promise<string> {
  return (await client.call('async_read', { path: 'f' }))['hash'] as string
}

function expectSuccess(answer: Answer): void {
  if (answer['success'] !== true) throw new Error(`edit_file failed: ${JSON.stringify(answer)}`)
}

function expectContention(answer: Answer): void {
  if (answer['status'] !== 'contention') throw new Error(`async_update failed: ${JSON.stringify(answer)}`)
}
