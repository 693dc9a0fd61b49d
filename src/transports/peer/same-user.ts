// Whether the process at the other end of a loopback connection runs as this server's user, or as root.
import type { Socket } from 'node:net'
import { isLoopback } from '../../support/loopback.ts'
import { OperationError } from '../../errors.ts'
import { hasTcpTable, readTcpTable, type TableName, type TcpTable } from './tcp-table.ts'

export interface SameUserCheck {
  /** Undefined if the connection may be used. It is looked up once; a connection from another machine is not checked. */
  refusalOf(socket: Socket): OperationError | undefined | Promise<OperationError | undefined>
}

const root = 0
/** The table is not read in one moment: a row can be missed while others come and go. */
const attempts = 2

/** Undefined if the system does not say which user a connection belongs to: Linux does. */
export function createSameUserCheck(): SameUserCheck | undefined {
  const own = process.geteuid?.()
  return own === undefined || !hasTcpTable() ? undefined : createCheck(own)
}

function createCheck(own: number): SameUserCheck {
  const readTable = shareReads(readTcpTable)
  const known = new WeakMap<Socket, OperationError | undefined>()

  async function lookUp(socket: Socket): Promise<OperationError | undefined> {
    const refusal = judge(await findUser(socket, readTable), own)
    known.set(socket, refusal)
    return refusal
  }

  return {
    refusalOf(socket) {
      if (known.has(socket)) return known.get(socket)
      // Without an address it is already closed, and its user can no longer be found.
      const isRemote = socket.localAddress !== undefined && !isLoopback(socket.localAddress)
      return isRemote ? undefined : lookUp(socket)
    }
  }
}

async function findUser(
  socket: Socket,
  readTable: (name: TableName) => Promise<TcpTable>
): Promise<number | undefined> {
  const tables: TableName[] = socket.localAddress === '::1' ? ['tcp6'] : ['tcp', 'tcp6']
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    for (const name of tables) {
      const table = await readTable(name)
      // The system is asked for the other end only now, and answers only while the connection lives. So no other process can have
      // had these two ends when the table was read, such as one that got the port of a client that was already gone.
      const { remoteAddress, remotePort, localAddress, localPort } = socket
      if (remoteAddress === undefined || remotePort === undefined) return undefined
      if (localAddress === undefined || localPort === undefined) return undefined
      const here = { address: localAddress, port: localPort }
      const user = table.userOf({ address: remoteAddress, port: remotePort }, here)
      if (user !== undefined) return user
    }
  }
  return undefined
}

function judge(user: number | undefined, own: number): OperationError | undefined {
  if (user === own || user === root) return undefined
  if (user === undefined) {
    const message =
      'The process that made this connection was not found, so its user is not known. Keep the connection open until the answer has come, and try again (daemon.same_user_only).'
    return new OperationError('FORBIDDEN_USER', message)
  }
  const message = `This server is for its own user (${own}) and root, and the connection was made by another user of this machine (${user}). Start a server of your own, or ask for one with a token and daemon.same_user_only false.`
  return new OperationError('FORBIDDEN_USER', message)
}

/** Calls that come before a read has begun share it. Later calls need a newer read, which shows their connection too. */
function shareReads(read: (name: TableName) => Promise<TcpTable>): (name: TableName) => Promise<TcpTable> {
  const running = new Map<TableName, Promise<unknown>>()
  const next = new Map<TableName, Promise<TcpTable>>()
  return (name) => {
    let shared = next.get(name)
    if (shared === undefined) {
      shared = (running.get(name) ?? Promise.resolve()).then(() => {
        next.delete(name)
        return read(name)
      })
      next.set(name, shared)
      running.set(
        name,
        shared.catch(() => {})
      )
    }
    return shared
  }
}
