// The hook program as a harness starts it: input on standard input, an answer on standard output, a real server in between.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { patient, runHook } from '../../fixtures/run-hook.ts'
import { programPath, startProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

function before(tree: Tree, session: string, tool: string, input: object): object {
  const names = { session_id: session, cwd: tree.root, tool_name: tool, tool_use_id: 'u1' }
  return { ...names, hook_event_name: 'PreToolUse', tool_input: input }
}

t.test('without an answer the tool goes on at once, or is refused if the operator says so', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\n' })
  const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
  const hung = createServer(() => {})
  await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    hung.closeAllConnections()
    hung.close()
  })
  const url = ['--url', `http://127.0.0.1:${(hung.address() as AddressInfo).port}`]
  const cases: readonly [string, unknown, readonly string[], RegExp][] = [
    ['no server', input, patient, /no running server found above/],
    ['a server that hangs', input, url, /does not answer/],
    ['a closed port', input, ['--url', 'http://127.0.0.1:9', ...patient], /ECONNREFUSED/],
    ['no JSON', 'x', patient, /not a JSON object/],
    ['a wrong flag', input, ['--sideways'], /sideways.*usage:/s]
  ]
  for (const [title, given, args, reason] of cases) {
    const { code, stdout, stderr } = await runHook('claude-code', given, args)
    t.same([code, stdout], [0, ''], title)
    t.match(stderr, reason, title)
    t.equal(stderr.trim().split('\n').length, 1, 'one line')
  }
  const bare = await runHook('claude-code', input, patient)
  const hanging = await runHook('claude-code', input, url)
  t.ok(
    hanging.ms - bare.ms < 5000,
    `a hung server costs ${Math.round(hanging.ms - bare.ms)} ms; the limit is 2000 and this machine's load`
  )
  for (const [harness, decision] of [
    ['claude-code', /"permissionDecision":"deny"/],
    ['gemini', /"decision":"deny"/],
    ['cursor', /"permission":"deny"/]
  ] as const) {
    const event =
      harness === 'gemini'
        ? { ...input, hook_event_name: 'BeforeTool' }
        : harness === 'cursor'
          ? { ...input, hook_event_name: 'preToolUse' }
          : input
    t.match((await runHook(harness, event, ['--closed', ...patient])).stdout, decision, `${harness}, closed`)
  }
  const wrong = await runHook('claude-code', input, ['--closed', '--sideways', ...patient])
  t.match(wrong.stdout, /"permissionDecision":"deny".*usage:/, 'a wrong flag does not open what is closed')
  const unknown = await runHook('sideways', input, ['--closed', ...patient])
  t.equal(unknown.code, 2, 'a refusal that every harness understands, where the form of the answer is not known')
  t.match(unknown.stderr, /usage:.*was not run/)
  const after = { ...input, hook_event_name: 'PostToolUse' }
  t.equal((await runHook('claude-code', after, ['--closed'])).stdout, '', 'what has been done is not refused')
})

t.test('a hook finds a server that does not listen, and waits for a lock as long as it was told', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\n' })
  const stdio = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
  await stdio.call('lock_try', { filepaths: ['a.txt'], agent_id: 'bob', note: 'mine' })
  const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
  const { stdout, ms } = await runHook('claude-code', input, ['--wait', '0.6', ...patient])
  t.match(stdout, /Agent bob has leased it .*mine/)
  t.ok(ms > 600, 'it has waited for longer than a server may hang')
})

t.test('a process on stdio that is beside hooks serves its tree before its model calls a tool', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\n' })
  const stdio = startStdio(t, ['--transport', 'stdio', '--tools', 'beside', '--dir', tree.root])
  const clientInfo = { name: 'test', version: '1' }
  await stdio.call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
  await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
  t.match((await runHook('claude-code', input, patient)).stdout, /"permissionDecision":"deny".*a\.txt/)
  await stdio.end()
})

t.test('without --wait the settings of the server say how long a hook waits', async (t) => {
  const variables = { ASYNC_CRUD_MCP_LOCKS__NATIVE_WAIT_SECONDS: '0.7' }
  for (const isListening of [true, false]) {
    const tree = makeTree(t, { 'a.txt': 'a\n' })
    const bob = { filepaths: ['a.txt'], agent_id: 'bob' }
    if (isListening) {
      const { url } = await startProgram(t, ['--dir', tree.root], variables)
      await (await connect(t, 'rest', url, 'bob')).call('lock_try', bob)
      await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
    } else {
      const stdio = startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { environment: variables })
      await stdio.call('lock_try', bob)
    }
    const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
    const { stdout, stderr } = await runHook('claude-code', input, patient)
    t.match(stdout, /native_edit did not get the exclusive lock on .*a\.txt within 0\.7 s/)
    t.equal(stderr, '')
  }
})

t.test('what cannot be checked is said, after a wait for a lock too', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\n' })
  const program = await startProgram(t, ['--dir', tree.root], { ASYNC_CRUD_MCP_CRUD__MAX_FILE_SIZE_BYTES: '1000' })
  const bob = await connect(t, 'rest', program.url, 'bob')
  const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
  for (const closed of [[], ['--closed']]) {
    tree.write('a.txt', 'a\n')
    await bob.call('lock_try', { filepaths: ['a.txt'] })
    const waiting = runHook('claude-code', input, ['--url', program.url, '--wait', '30', ...patient, ...closed])
    await until(async () => (await bob.call('lock_status', { filepaths: ['a.txt'] }))['results'][0].queue_depth === 1)
    tree.write('a.txt', 'a'.repeat(2000))
    await bob.call('lock_release_all', {})
    const { code, stdout, stderr } = await waiting
    t.equal(code, 0)
    t.match(stderr, /hook: the server answered: The file has 2000 bytes.*a\.txt/)
    t.match(stdout, closed.length > 0 ? /"permissionDecision":"deny"/ : /^$/)
  }
  t.match(program.stderr.join('\n'), 'a hook failed after its wait for a lock')
})

t.test('a program that stays answers one event after the other, and ends with its input', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'a\n' })
  await startProgram(t, ['--dir', tree.root])
  await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [programPath, 'hook', 'claude-code', '--stay', ...patient], { env })
  t.teardown(() => child.kill('SIGKILL'))
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse(String((await answers.next()).value)) as { id: unknown; answer: object }
  const input = before(tree, 's', 'Write', { file_path: tree.path('a.txt'), content: 'x' })
  child.stdin.write(`${JSON.stringify({ id: 1, event: input })}\n`)
  t.match(await next(), { id: 1, answer: { hookSpecificOutput: { permissionDecision: 'deny' } } })
  child.stdin.write(`no JSON\n${JSON.stringify({ id: 'b', event: { ...input, hook_event_name: 'SessionEnd' } })}\n`)
  const others = [await next(), await next()]
  t.same(
    others.sort((a, b) => String(a.id).localeCompare(String(b.id))),
    [
      { id: 'b', answer: {} },
      { id: null, answer: {} }
    ],
    'what is no event is answered, too'
  )
  child.stdin.end()
  t.same(await once(child, 'close'), [0, null])
})
