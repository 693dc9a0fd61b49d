// A process of its own with one MCP tool that does nothing but answer a given number of bytes, as structured content and as text.
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sourceText } from '../sources.ts'

const answer = { status: 'ok', content: sourceText(Number(process.argv[2])) }

const handler = createMcpHandler(createTool, { legacy: 'reject' })
// Node's own types leave optional what the SDK's structural type demands.
const listener = toNodeHandler(handler) as Parameters<typeof createServer>[1]

const server = createServer(listener).listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('disconnect', () => process.exit())

function createTool(): Server {
  const tool = new Server({ name: 'floor', version: '1' }, { capabilities: { tools: {} } })
  tool.setRequestHandler('tools/call', () => ({
    content: [{ type: 'text', text: JSON.stringify(answer) }],
    structuredContent: answer
  }))
  return tool
}
