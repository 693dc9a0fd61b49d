// Clients of MCP on standard input and output, with plain calls on the same stream.
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio'
import { AjvJsonSchemaValidator as ModernValidator } from '@modelcontextprotocol/client/validators/ajv'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { AjvJsonSchemaValidator as LegacyValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import t, { type Test } from 'tap'
import { agentOperations } from '../../../src/operations/index.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { argsFor } from '../../fixtures/rpc.ts'
import { programPath } from '../../fixtures/server.ts'
import type { Message } from '../../fixtures/stdio.ts'
import { makeTree, shortHashOf } from '../../fixtures/tree.ts'

interface McpClient {
  readonly names: readonly string[]
  callTool(name: string, input: Record<string, unknown>): Promise<Answer>
  /** A plain call on the stream of the client. */
  callPlain(method: string, params: object): Promise<Message>
}

const eras: Record<string, (t: Test, args: string[]) => Promise<McpClient>> = {
  async '2026'(t, args) {
    const transport = new ModernTransport({ command: process.execPath, args: [programPath, ...args], stderr: 'ignore' })
    const client = new ModernClient(
      { name: 'test-2026', version: '1' },
      { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: whenCalled(new ModernValidator()) }
    )
    await client.connect(transport)
    return useClient(t, client, transport)
  },
  async '2025'(t, args) {
    const transport = new LegacyTransport({ command: process.execPath, args: [programPath, ...args], stderr: 'ignore' })
    const client = new LegacyClient(
      { name: 'test-2025', version: '1' },
      { jsonSchemaValidator: whenCalled(new LegacyValidator()) }
    )
    await client.connect(transport)
    return useClient(t, client, transport)
  }
}

/** Compiles the schema of a tool at its first answer; left alone, a client compiles those of all tools when it lists them. */
function whenCalled<Validator extends ModernValidator | LegacyValidator>(validator: Validator): Validator {
  const getValidator = validator.getValidator.bind(validator)
  const lazy: ModernValidator['getValidator'] = <T>(schema: object) => {
    let validate: ReturnType<typeof getValidator<T>> | undefined
    return (input) => (validate ??= getValidator<T>(schema))(input)
  }
  return Object.assign(validator, { getValidator: lazy })
}

async function useClient(
  t: Test,
  client: ModernClient | LegacyClient,
  transport: ModernTransport | LegacyTransport
): Promise<McpClient> {
  t.teardown(() => client.close())
  const { tools } = await client.listTools()
  return {
    names: tools.map(({ name }) => name),
    callTool: (name, input) => client.callTool({ name, arguments: input }),
    callPlain: callerOn(transport)
  }
}

/** Sends past the client, which would not know what to do with the answer. */
function callerOn(transport: ModernTransport | LegacyTransport): McpClient['callPlain'] {
  const passOn = transport.onmessage as (message: unknown) => void
  const waiting = new Map<unknown, (answer: Message) => void>()
  transport.onmessage = (message: Message) => {
    const resolve = waiting.get(message['id'])
    if (resolve === undefined) passOn.call(transport, message)
    else resolve(message)
  }
  return async (method, params) => {
    const id = `plain ${waiting.size}`
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve))
    await transport.send({ jsonrpc: '2.0', id, method, params: { ...params } })
    return answer
  }
}

for (const [era, connect] of Object.entries(eras)) {
  t.test(`a client of MCP ${era} works on the stream, and plain calls beside it`, async (t) => {
    const tree = makeTree(t, { f: 'one\n' })
    const client = await connect(t, argsFor(tree, '--tools', 'all,undo,files'))
    t.strictSame(
      client.names,
      agentOperations.map(({ name }) => name)
    )
    t.match(await client.callTool('async_read', { path: 'f' }), { structuredContent: { hash: shortHashOf('one\n') } })
    t.match(await client.callPlain('edit_file', { name: 'f', append: 'two' }), {
      jsonrpc: '2.0',
      result: { success: true }
    })
    t.match(
      await client.callTool('async_update', { path: 'f', expected_hash: shortHashOf('one\n'), content: 'x' }),
      { structuredContent: { status: 'contention', current_hash: shortHashOf('one\ntwo\n') } },
      'the tool learns what the plain call has changed'
    )
    t.match(await client.callTool('read_file', { name: '..' }), {
      isError: true,
      structuredContent: { error: { code: -32602 } }
    })
    t.match(await client.callPlain('read_file', { name: 'missing' }), { error: { code: -32001 } })
    const both = await Promise.all([
      client.callTool('async_append', { path: 'f', content: 'three\n' }),
      client.callPlain('list_files', {}),
      client.callTool('edit_file', { name: 'f', append: 'four' })
    ])
    t.match(both, [
      { structuredContent: { status: 'ok' } },
      { result: { total_count: 1 } },
      { structuredContent: { success: true } }
    ])
    t.strictSame(tree.read('f').trimEnd().split('\n').sort(), ['four', 'one', 'three', 'two'])
  })
}
