// Hooks that call a tool of a connected server: it is not listed, takes an event member by member, and does what a hook program does.
import { existsSync } from 'node:fs'
import t from 'tap'
import { connectModern } from '../../fixtures/clients.ts'
import { cannotStop } from '../../fixtures/processes.ts'
import { patientHooks } from '../../fixtures/run-hook.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/** As Claude Code fills it in: what the event has not is empty, and objects are JSON. */
function hookInput(tree: Tree, session: string, more: Record<string, string>) {
  const none = { agent_id: '', tool_name: '', tool_input: '', tool_response: '', tool_use_id: '' }
  return { harness: 'claude-code', event: { ...none, session_id: session, cwd: tree.root, ...more } }
}

const whole = (tree: Tree, content: string) => ({
  hook_event_name: 'PreToolUse',
  tool_name: 'Write',
  tool_input: JSON.stringify({ file_path: tree.path('a.txt'), content }),
  tool_use_id: 'u1'
})

const shell = { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_input: '{"command":"true"}' }

type Content = readonly { readonly text: string }[]

t.test('over HTTP it answers as the route of hooks does', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const { url } = await startServer(t, tree.root)
  const client = await connectModern(url)
  t.teardown(() => client.close())
  const { tools } = await client.listTools()
  t.notOk(
    tools.some(({ name }) => name === 'native_hook'),
    'no model is offered it'
  )
  const call = (input: object) => client.callTool({ name: 'native_hook', arguments: { ...input } })
  const text = async (input: object) => ((await call(input)).content as Content)[0]?.text ?? ''
  t.match(JSON.parse(await text(hookInput(tree, 's', whole(tree, 'two\n')))), {
    hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: /You have not read/ }
  })
  t.match(JSON.parse(await text(hookInput(tree, 's', shell))), {
    hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: /knows you as "claude-code\/s"/ }
  })
  t.same(JSON.parse(await text(hookInput(tree, 's', shell))), {}, 'nothing more to say')
  t.match(await text(hookInput(tree, 's', { ...shell, agent_id: 'sub' })), /claude-code\/s\/sub/)
  t.match(await call({ harness: 'telepathy', event: {} }), { isError: true, content: [{ text: /harness/ }] })
  t.match(await call({}), { isError: true })
})

t.test(
  'a process of a client asks the server of the tree of the file, and waits for none that hangs',
  { skip: cannotStop },
  async (t) => {
    const [own, other] = [makeTree(t, { 'a.txt': 'one\n' }), makeTree(t, { 'a.txt': 'one\n' })]
    const stateOf = (tree: Tree) => tree.path('.async-crud-mcp/.mcp_server_state.json')
    const { process: served } = await startProgram(t, ['--dir', other.root])
    await until(() => existsSync(stateOf(other)))
    const program = startStdio(t, ['--stdio', '--dir', own.root, '--tools', 'beside'], { environment: patientHooks })
    const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'claude-code', version: '1' } }
    await program.call('initialize', info)
    const ask = async (from: typeof program, input: object) => {
      const { result } = await from.call('tools/call', { name: 'native_hook', arguments: input })
      const content = result?.['content'] as Content | undefined
      return content?.[0]?.text ?? ''
    }
    const denial = /permissionDecision":"deny".*You have not read/
    t.match(await ask(program, hookInput(own, 's', whole(own, 'two\n'))), denial, 'its own tree is served at once')
    t.match(await ask(program, hookInput(own, 's', whole(other, 'two\n'))), denial, 'of another tree')
    const outside = makeTree(t, { 'a.txt': 'one\n' })
    t.equal(await ask(program, hookInput(outside, 's', whole(outside, 'two\n'))), '{}', 'of none the tool goes on')
    const hasty = startStdio(t, ['--stdio', '--dir', own.root, '--tools', 'beside'], {
      environment: { ASYNC_CRUD_MCP_HOOK_PATIENCE: '0.5' }
    })
    await hasty.call('initialize', info)
    served.kill('SIGSTOP')
    t.teardown(() => served.kill('SIGCONT'))
    t.equal(await ask(hasty, hookInput(own, 's', whole(other, 'two\n'))), '{}')
    t.ok(hasty.stderr.some((line) => /does not answer\. The tool goes on unchecked/.test(line)))
  }
)
