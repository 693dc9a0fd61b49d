// What a hook costs around a native edit: as a program that the harness starts, and over HTTP; beside a hook that does nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { programPath, startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { until } from '../../test/fixtures/until.ts'
import { withOwner } from '../owner.ts'
import { percentile } from '../statistics.ts'
import { figure, printTable } from '../table.ts'

const rounds = 40
const lines = Array.from({ length: 200 }, (_, index) => `line ${index} of a file of usual size`)

export async function hooks(): Promise<void> {
  await withOwner(async (owner) => {
    const tree = makeTree(owner, { 'a.txt': `${lines.join('\n')}\n` })
    const { url } = await startProgram(owner, ['--dir', tree.root])
    await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
    const path = tree.path('a.txt')
    const event = (round: number, hook_event_name: string) => ({
      session_id: 'bench',
      cwd: tree.root,
      hook_event_name,
      tool_name: 'Edit',
      tool_input: { file_path: path, old_string: `line ${round} `, new_string: `edit ${round} ` },
      tool_use_id: `u${round}`,
      ...(hook_event_name === 'PostToolUse' && { tool_response: {} })
    })
    const post = async (input: object) => {
      const headers = { 'content-type': 'application/json' }
      await (await fetch(`${url}/hooks/claude-code`, { method: 'POST', headers, body: JSON.stringify(input) })).text()
    }
    const nothing = () => run(['-e', '0'], {})
    const bare: number[] = []
    const samples = {
      before: [] as number[],
      after: [] as number[],
      httpBefore: [] as number[],
      httpAfter: [] as number[]
    }
    // The first start compiles.
    await run([programPath, 'hook', 'claude-code'], event(0, 'PreToolUse'))
    await post(event(0, 'PostToolUse'))
    for (let round = 1; round <= rounds; round += 1) {
      bare.push(await timed(nothing))
      const [before, after] = [event(round, 'PreToolUse'), event(round, 'PostToolUse')]
      const [first, second] =
        round % 2 === 0
          ? ([samples.before, samples.after] as const)
          : ([samples.httpBefore, samples.httpAfter] as const)
      const ask = (input: object) => (round % 2 === 0 ? run([programPath, 'hook', 'claude-code'], input) : post(input))
      first.push(await timed(() => ask(before)))
      tree.write('a.txt', tree.read('a.txt').replace(`line ${round} `, `edit ${round} `))
      second.push(await timed(() => ask(after)))
    }
    const row = (name: string, ms: readonly number[]) => [name, figure(percentile(ms, 50)), figure(percentile(ms, 95))]
    printTable(
      'hooks around a native edit of a file of 7 KB, milliseconds',
      ['hook', 'p50', 'p95'],
      [
        row('a program that does nothing (node -e 0)', bare),
        row('async-crud-mcp hook, before', samples.before),
        row('async-crud-mcp hook, after', samples.after),
        row('POST /hooks/claude-code, before', samples.httpBefore),
        row('POST /hooks/claude-code, after', samples.httpAfter)
      ]
    )
  })
}

async function timed(act: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await act()
  return performance.now() - start
}

async function run(args: readonly string[], input: object): Promise<void> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'ignore', 'ignore'], env })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(input))
  await once(child, 'close')
}
