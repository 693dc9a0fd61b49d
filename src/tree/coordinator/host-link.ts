// Connections between the hosts of a tree: TLS with certificates on both sides, or a shared secret that neither side sends.
import { readFileSync } from 'node:fs'
import { connect as connectTcp, createServer as createTcpServer, isIP, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { greet, withinTime, type Side } from './greeting.ts'

export interface HostLinkSettings {
  /** Empty if certificates are used. Then what is said can be read on the way: the operator has said that the network is private. */
  readonly secret: string
  /** Paths of PEM files. */
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
}

export interface HostLink {
  /** Listens not yet. @param accept called with each connection whose other end has proved that it belongs to the tree */
  createServer(accept: (socket: Socket) => void): Server
  /** @throws Error if the other end does not answer, or has not proved that it belongs to the tree */
  connect(host: string, port: number, signal: AbortSignal): Promise<Socket>
}

/** Ends a connection whose other end does not say what it should. */
const greetingMs = 5000

/** @param tree its identity: a secret that serves several trees proves nothing about another one */
export function createHostLink({ secret, ca, cert, key }: HostLinkSettings, tree: () => string): HostLink {
  const begin = async (socket: Socket, side: Side) =>
    withinTime(socket, greetingMs, greet(socket, side, { secret, tree: tree() }))

  if (secret !== '')
    return {
      createServer(accept) {
        return createTcpServer({ noDelay: true }, (socket) => {
          begin(socket, 'authority').then(
            () => accept(socket),
            () => socket.destroy()
          )
        })
      },
      async connect(host, port, signal) {
        const socket = connectTcp({ host, port, noDelay: true, signal })
        await begin(socket, 'relay')
        return socket
      }
    }

  const files = { ca: readPem(ca), cert: readPem(cert), key: readPem(key), minVersion: 'TLSv1.3' as const }
  return {
    createServer: (accept) =>
      createTlsServer({ ...files, requestCert: true, rejectUnauthorized: true, noDelay: true }, accept).on(
        'tlsClientError',
        () => {}
      ),
    async connect(host, port, signal) {
      const socket = connectTls({ ...files, host, port, servername: isIP(host) === 0 ? host : '' })
      socket.setNoDelay(true)
      signal.addEventListener('abort', () => socket.destroy(), { once: true })
      await withinTime(socket, greetingMs, new Promise((resolve) => socket.once('secureConnect', resolve)))
      return socket
    }
  }
}

function readPem(path: string | null): Buffer | undefined {
  return path === null ? undefined : readFileSync(path)
}
