// What hooks cost around a native edit and around a shell command that changes a file: in each form that harnesses have, beside a hook of that form
// which answers at once and does nothing.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { programPath, startProgram } from '../../test/fixtures/server.ts'
import { makeTree, type Tree } from '../../test/fixtures/tree.ts'
import { until } from '../../test/fixtures/until.ts'
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { percentile } from '../statistics.ts'
import { figure, printTable, whole } from '../table.ts'

/** Asks one hook, and resolves with its answer. */
type Ask = (event: object) => Promise<unknown>

interface Form {
  readonly name: string
  readonly ours: Ask
  readonly empty: Ask
}

const usualFiles = 10_000
const rounds = 120
/** Until then a server that has just started compiles what it runs. */
const firstRounds = 24
const filesInFolder = 100
const text = Array.from({ length: 200 }, (_, index) => `line ${index} of a file of usual size`).join('\n')

export async function hooks({ files = usualFiles }: Options = {}): Promise<void> {
  await withOwner(async (owner) => {
    const tree = makeGitTree(owner, files)
    const { url } = await startProgram(owner, ['--dir', tree.root])
    await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
    const forms = [programs(), await requests(owner, url), await tools(owner, tree.root), await staying(owner)]
    const rows: string[][] = []
    for (const tool of ['shell command', 'edit'] as const) {
      const samples = await measure(tree, forms, tool)
      for (const [index, { name }] of forms.entries()) {
        const { ours, empty } = samples[index] as Samples
        const of = (times: readonly number[], from: number, to: number) => percentile(times.slice(from, to), 50)
        const [usual, least] = [of(ours, firstRounds, rounds), of(empty, firstRounds, rounds)]
        rows.push([
          `${name}, ${tool}`,
          figure(least),
          figure(usual),
          figure(percentile(ours.slice(firstRounds), 95)),
          figure(usual / least),
          figure(of(ours, 0, firstRounds) / of(empty, 0, firstRounds))
        ])
      }
    }
    printTable(
      `hooks before and after a tool together, in a Git tree of ${whole(files)} files, milliseconds`,
      ['form', 'empty p50', 'ours p50', 'ours p95', 'ours / empty', `in the first ${firstRounds}`],
      rows
    )
  })
}

interface Samples {
  readonly ours: number[]
  readonly empty: number[]
}

/** In each round every form is asked around one change of one file, the empty hook right beside ours. */
async function measure(tree: Tree, forms: readonly Form[], tool: 'shell command' | 'edit'): Promise<Samples[]> {
  const samples = forms.map((): Samples => ({ ours: [], empty: [] }))
  for (let round = -1; round < rounds; round += 1)
    for (const [index, { ours, empty }] of forms.entries()) {
      const name = nameOf((round + 1) * forms.length + index)
      const around = async (ask: Ask, change: () => void) => {
        const [before, after] = eventsOf(tree, tool, name, round)
        const first = await timed(() => ask(before))
        change()
        return first + (await timed(() => ask(after)))
      }
      const times = {
        empty: await around(empty, () => {}),
        ours: await around(ours, () => tree.write(name, `${text} ${tool} ${round}\n`))
      }
      // The first round compiles.
      if (round === -1) continue
      samples[index]?.empty.push(times.empty)
      samples[index]?.ours.push(times.ours)
    }
  return samples
}

function eventsOf(tree: Tree, tool: 'shell command' | 'edit', name: string, round: number): readonly [object, object] {
  const shell = { tool_name: 'Bash', tool_input: { command: `sed -i s/line/lines/ ${name}` } }
  const old_string = `line 199 of a file of usual size`
  const edit = {
    tool_name: 'Edit',
    tool_input: { file_path: tree.path(name), old_string, new_string: `${old_string}!` }
  }
  const common = {
    session_id: 'bench',
    cwd: tree.root,
    tool_use_id: `${tool}${round}${name}`,
    ...(tool === 'edit' ? edit : shell)
  }
  return [
    { ...common, hook_event_name: 'PreToolUse' },
    { ...common, hook_event_name: 'PostToolUse', tool_response: {} }
  ]
}

function programs(): Form {
  const run =
    (args: readonly string[]): Ask =>
    async (event) => {
      const { NODE_OPTIONS: _, ...env } = process.env
      const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'ignore', 'ignore'], env })
      child.stdin.on('error', () => {})
      child.stdin.end(JSON.stringify(event))
      await once(child, 'close')
    }
  return { name: 'a program', ours: run([programPath, 'hook', 'claude-code']), empty: run(['-e', '0']) }
}

async function requests(owner: Owner, url: string): Promise<Form> {
  const program = `require('http').createServer((q, r) => q.resume().on('end', () => r.setHeader('content-type', 'application/json').end('{}'))).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const child = startChild(owner, ['-e', program])
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const post =
    (address: string): Ask =>
    async (event) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(address, { method: 'POST', headers, body: JSON.stringify(event) })).text()
    }
  return { name: 'http', ours: post(`${url}/hooks/claude-code`), empty: post(`http://127.0.0.1:${port}/`) }
}

/** The process of the client relays to the server. */
async function tools(owner: Owner, root: string): Promise<Form> {
  const answer = `console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: { content: [{ type: 'text', text: '{}' }] } }))`
  const empty = lines(
    startChild(owner, [
      '-e',
      `require('readline').createInterface({ input: process.stdin }).on('line', (line) => ${answer})`
    ])
  )
  const ours = lines(startChild(owner, [programPath, '--stdio', '--dir', root, '--tools', 'beside']))
  const clientInfo = { name: 'claude-code', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  await ours((id) => ({ jsonrpc: '2.0', id, method: 'initialize', params }))
  const call =
    (ask: typeof ours): Ask =>
    (event) => {
      const given = { name: 'native_hook', arguments: { harness: 'claude-code', event: asPlaceholders(event) } }
      return ask((id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: given }))
    }
  return { name: 'mcp_tool', ours: call(ours), empty: call(empty) }
}

/** As Claude Code fills in a member that is no text. */
function asPlaceholders(event: object): object {
  const given = Object.entries(event).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value)
  ])
  return Object.fromEntries(given) as object
}

async function staying(owner: Owner): Promise<Form> {
  const answer = `console.log(JSON.stringify({ id: JSON.parse(line).id, answer: {} }))`
  const empty = lines(
    startChild(owner, [
      '-e',
      `require('readline').createInterface({ input: process.stdin }).on('line', (line) => ${answer})`
    ])
  )
  const ours = lines(startChild(owner, [programPath, 'hook', 'claude-code', '--stay']))
  const call =
    (ask: typeof ours): Ask =>
    (event) =>
      ask((id) => ({ id, event }))
  return { name: 'a program that stays', ours: call(ours), empty: call(empty) }
}

function startChild(owner: Owner, args: readonly string[]) {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...env, ASYNC_CRUD_MCP_CONFIG: '' }
  })
  owner.teardown(() => child.kill('SIGKILL'))
  return child
}

/** A line for each question, a line with its id for each answer. */
function lines({ stdin, stdout }: ReturnType<typeof startChild>): (ask: (id: number) => object) => Promise<unknown> {
  const waiting = new Map<unknown, (answer: unknown) => void>()
  let last = 0
  createInterface({ input: stdout }).on('line', (line) => {
    const message = JSON.parse(line) as { readonly id?: unknown }
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  return (ask) =>
    new Promise((resolve) => {
      last += 1
      waiting.set(last, resolve)
      stdin.write(`${JSON.stringify(ask(last))}\n`)
    })
}

const nameOf = (index: number) => `folder-${Math.floor(index / filesInFolder)}/file-${index}.txt`

function makeGitTree(owner: Owner, files: number): Tree {
  const tree = makeTree(owner, {})
  for (let index = 0; index < files; index += 1) tree.write(nameOf(index), `${text}\n`)
  const git = (...args: string[]) => execFileSync('git', ['-C', tree.root, ...args], { stdio: 'ignore' })
  git('init', '--quiet')
  git('add', '--all')
  git('-c', 'user.name=ann', '-c', 'user.email=ann@example.org', 'commit', '--quiet', '--message=first')
  return tree
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await act()
  return performance.now() - start
}
