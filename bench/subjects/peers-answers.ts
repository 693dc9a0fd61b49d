// What an answer of each server costs its reader: bytes on the wire, and tokens of the text that a model is shown.
import { withOwner } from '../owner.ts'
import { startRaw } from '../peers/connect.ts'
import { works, type PeerServer } from '../peers/servers.ts'
import { listShown, type ToolList } from '../story/client-forms.ts'
import { whole, type Row } from '../table.ts'
import { makeFolder } from './peers-rates.ts'

export const answersHead = ['answer', 'server', 'bytes of the line', 'bytes of its text', 'tokens of its text']

type Count = (text: string) => number

export async function answerRows(servers: readonly PeerServer[], countTokens: Count): Promise<Row[]> {
  const rows: Row[] = []
  for (const work of works)
    for (const server of servers.filter((peer) => peer.works.includes(work)))
      rows.push(await answerRow(server, work, countTokens))
  for (const server of servers.filter((peer) => peer.works.includes('read')))
    rows.push(await toolsRow(server, countTokens))
  return rows
}

function answerRow(server: PeerServer, work: (typeof works)[number], countTokens: Count): Promise<Row> {
  return withOwner(async (owner) => {
    const { root, paths } = makeFolder(owner, work)
    const running = await startRaw(owner, server, root)
    const line = await running.request('tools/call', server.calls[work](paths[0] ?? '').next())
    const { result } = JSON.parse(line.toString()) as { result: { content: { text?: string }[] } }
    const text = result.content.map(({ text = '' }) => text).join('\n')
    return [work, server.name, whole(line.length), whole(Buffer.byteLength(text)), whole(countTokens(text))]
  })
}

function toolsRow(server: PeerServer, countTokens: Count): Promise<Row> {
  return withOwner(async (owner) => {
    const { root } = makeFolder(owner, 'read')
    const line = await (await startRaw(owner, server, root)).request('tools/list', {})
    const { result } = JSON.parse(line.toString()) as { result: ToolList }
    const text = listShown(result)
    const what = `tools/list, ${result.tools.length} tools`
    return [what, server.name, whole(line.length), whole(Buffer.byteLength(text)), whole(countTokens(text))]
  })
}
