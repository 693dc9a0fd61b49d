// Several clients add lines to one file at once, each through a server process of its own as harnesses start them: which acknowledged lines are lost.
import { readFile, writeFile } from 'node:fs/promises'
import { makeTree } from '../../test/fixtures/tree.ts'
import { version } from '../../src/support/installation.ts'
import { withOwner, type Owner } from '../owner.ts'
import { startRaw } from '../peers/connect.ts'
import { installPackages, packageVersion, type PackageName } from '../peers/packages.ts'
import { ours, servers, type Call, type PeerServer } from '../peers/servers.ts'
import { percent, printTable, whole, type Row } from '../table.ts'

const clients = 8
const linesEach = 10
/** Each line is put before it. */
const end = 'end of the list\n'
const file = 'list.txt'

/** Resolves with true if the line was acknowledged. */
type Add = (line: string) => Promise<boolean>

interface Way {
  readonly name: string
  readonly version: string
  /** One client. */
  readonly join: (owner: Owner, root: string, path: string) => Promise<Add>
}

export async function lostUpdates(): Promise<void> {
  console.log(`\n## lost updates: ${clients} clients add ${linesEach} lines each to one file`)
  const failure = installPackages(['@modelcontextprotocol/server-filesystem', '@wonderwhy-er/desktop-commander'])
  if (failure !== undefined) console.log(`\nonly without the others: ${failure}`)
  const ways = [ourWay, ...(failure === undefined ? rivals : []), withoutServer]
  const rows: Row[] = []
  for (const way of ways) rows.push(await withOwner((owner) => measure(owner, way)))
  printTable(
    `${clients} clients, ${linesEach} lines each`,
    ['through', 'version', 'acknowledged', 'refused', 'lost', 'of acknowledged'],
    rows
  )
}

async function measure(owner: Owner, { name, version, join }: Way): Promise<Row> {
  const tree = makeTree(owner, { [file]: end })
  const adds = await Promise.all(Array.from({ length: clients }, () => join(owner, tree.root, tree.path(file))))
  const acknowledged: string[] = []
  let refused = 0
  await Promise.all(
    adds.map(async (add, client) => {
      for (let count = 0; count < linesEach; count += 1) {
        const line = `client ${client}, line ${count}`
        if (await add(line)) acknowledged.push(line)
        else refused += 1
      }
    })
  )
  const there = new Set(tree.read(file).split('\n'))
  const lost = acknowledged.filter((line) => !there.has(line)).length
  const counts = [acknowledged.length, refused, lost].map(whole)
  return [name, version, ...counts, percent(lost / acknowledged.length)]
}

/** As our tool asks: each update names the version that it is made for, and is sent again for the one that a refusal names. */
const ourWay: Way = {
  name: ours.name,
  version,
  async join(owner, root, path) {
    const server = await startRaw(owner, ours, root)
    const call = async (wanted: Call) => {
      const line = (await server.request('tools/call', wanted)).toString()
      const { result } = JSON.parse(line) as { result: { structuredContent: Answer } }
      return result.structuredContent
    }
    let hash = (await call({ name: 'async_read', arguments: { path } })).hash
    return async (line) => {
      for (;;) {
        const patches = [{ old_string: end, new_string: `${line}\n${end}` }]
        const answer = await call({ name: 'async_update', arguments: { path, expected_hash: hash, patches } })
        hash = answer.status === 'contention' ? answer.current_hash : answer.hash
        if (answer.status !== 'contention') return answer.status === 'ok'
      }
    }
  }
}

interface Answer {
  readonly status: string
  readonly hash: string
  readonly current_hash: string
}

interface Editor {
  readonly server: string
  readonly packageName: PackageName
  readonly edit: (path: string, before: string, after: string) => Call
}

const editors: readonly Editor[] = [
  {
    server: 'server-filesystem',
    packageName: '@modelcontextprotocol/server-filesystem',
    edit: (path, oldText, newText) => ({ name: 'edit_file', arguments: { path, edits: [{ oldText, newText }] } })
  },
  {
    server: 'desktop-commander',
    packageName: '@wonderwhy-er/desktop-commander',
    edit: (file_path, old_string, new_string) => ({
      name: 'edit_block',
      arguments: { file_path, old_string, new_string }
    })
  }
]

const rivals = editors.map(({ server, packageName, edit }): Way => {
  return {
    name: server,
    version: packageVersion(packageName),
    async join(owner, root, path) {
      const running = await startRaw(owner, servers.find(({ name }) => name === server) as PeerServer, root)
      // Both show what they have made of the file.
      return async (line) => {
        const answer = await running.call(edit(path, end, `${line}\n${end}`)).catch(() => '')
        return answer.includes(line)
      }
    }
  }
})

/** What a program does that reads a file, changes the text and writes it back. */
const withoutServer: Way = {
  name: 'read, then write, without a server',
  version: `Node ${process.versions.node}`,
  join: async (_, __, path) => async (line) => {
    const text = await readFile(path, 'utf8')
    // Another one is just writing it.
    if (!text.includes(end)) return false
    await writeFile(path, text.replace(end, `${line}\n${end}`))
    return true
  }
}
