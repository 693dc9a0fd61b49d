// The real program over one folder, and callers of its file-editing operations whose own cost is small.
import { spawn } from 'node:child_process'
import { programPath, startProgram } from '../../test/fixtures/server.ts'
import type { Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { connectStdio } from '../load/stdio-connection.ts'

/** Resolves with the bytes of the answer; rejects where it is a failure. */
export type EditingCall = (operation: string, input: object) => Promise<Buffer>

export interface Door {
  readonly transport: string
  /** Of the server. */
  readonly pid: number
  /** A caller with a connection of its own, where the transport has several. */
  connect(): Promise<EditingCall>
}

export type OpenDoor = (owner: Owner, folder: string) => Promise<Door>

/** One keep-alive connection for each caller. */
export async function openRest(owner: Owner, folder: string, environment: Record<string, string> = {}): Promise<Door> {
  const { url, process: server } = await startProgram(owner, ['--dir', folder], environment)
  const { host } = new URL(url)
  return {
    transport: 'REST',
    pid: server.pid ?? NaN,
    async connect() {
      const connection = await RawConnection.open(url, owner)
      return async (operation, input) => {
        const body = Buffer.from(JSON.stringify(input))
        const head = `POST /${operation} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
        const answer = await connection.send(Buffer.concat([Buffer.from(head, 'latin1'), body]))
        if (answer.status !== 200) throw new Error(`${operation}: ${answer.status} ${answer.body.toString()}`)
        return answer.body
      }
    }
  }
}

/** All callers share the one stream. */
export async function openStdio(owner: Owner, folder: string): Promise<Door> {
  const args = [programPath, '--transport', 'stdio', '--dir', folder, '--log-level', 'warn']
  const server = spawn(process.execPath, args, {
    env: { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' },
    stdio: ['pipe', 'pipe', 'inherit']
  })
  owner.teardown(() => server.kill('SIGKILL'))
  const call = connectStdio(server)
  // It answers nothing before it is ready; who measures the first list_files does not want to measure that.
  await call('read_file', { name: 'no-such-file' }).catch(() => {})
  return { transport: 'stdio', pid: server.pid ?? NaN, connect: async () => call }
}

export const doors: readonly OpenDoor[] = [openRest, openStdio]
