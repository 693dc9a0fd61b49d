// What the tables of the hot path leave open: the SDK's own clients, the SDK's own share of an answer, updates that send the whole text.
import { connectLegacy, connectModern, type TransportName } from '../../test/fixtures/clients.ts'
import { startTool, type Floors } from '../floors/floors.ts'
import { warmUp, type Send } from '../load/load.ts'
import type { Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { prepareFraming } from '../load/requests.ts'
import { runContest, type Contest } from '../load/rounds.ts'
import { sizes, startScene, type Scene, type SceneOptions } from '../load/scene.ts'
import type { Row } from '../table.ts'

const connections = 10

export async function otherWays(owner: Owner, floors: Floors): Promise<Row[]> {
  const scene = (transport: TransportName, options: Partial<SceneOptions> = {}) =>
    startScene(owner, { operation: 'read', size: '10 KB', transport, floors, ...options })
  const modern = await scene('mcp-2026')
  const whole = async (size: SceneOptions['size']) => {
    const subject = await scene('rest', { operation: 'update', size, form: 'content' })
    return subject.contest(connections)
  }
  return [
    await row('read 10 KB, MCP 2026, the SDK client', sdkContest(owner, modern, 'mcp-2026')),
    await row('read 10 KB, MCP 2025, the SDK client', sdkContest(owner, modern, 'mcp-2025')),
    await row('no work, 10 KB, MCP 2026, an empty tool of the SDK', toolContest(owner, modern)),
    await row('update 10 KB, REST, by whole content', whole('10 KB')),
    await row('update 1 MB, REST, by whole content', whole('1 MB'))
  ]
}

async function row(name: string, pending: Promise<Contest>): Promise<Row> {
  const contest = await pending
  await warmUp(contest.ours)
  return [name, ...(await runContest(contest))]
}

/** The cost of the clients falls on this process, not on the server. */
async function sdkContest(owner: Owner, scene: Scene, era: 'mcp-2026' | 'mcp-2025'): Promise<Contest> {
  const contest = await scene.contest(connections)
  const send = async (path: string): Promise<Send> => {
    const client = await (era === 'mcp-2026' ? connectModern(scene.url) : connectLegacy(scene.url))
    owner.teardown(() => client.close())
    return async () => {
      const { isError } = await client.callTool({ name: 'async_read', arguments: { path } })
      if (isError === true) throw new Error(`async_read of ${path} failed`)
    }
  }
  return { ...contest, ours: await Promise.all(scene.paths.slice(0, connections).map(send)) }
}

/** What remains of an answer over MCP when our own part of it is taken away. */
async function toolContest(owner: Owner, scene: Scene): Promise<Contest> {
  const contest = await scene.contest(connections)
  const url = await startTool(owner, sizes['10 KB'])
  const send = async (path: string): Promise<Send> => {
    const connection = await RawConnection.open(url, owner)
    const { frame, bodyOf } = await prepareFraming('mcp-2026', 'async_read', scene.captures, connection, url)
    return async () => {
      const { status, head } = await connection.send(frame(`${url}/mcp`, bodyOf({ path })))
      if (status !== 200) throw new Error(`the empty tool answered ${head}`)
    }
  }
  return { ...contest, ours: await Promise.all(scene.paths.slice(0, connections).map(send)) }
}
