// Connections between the hosts of a tree: TLS with certificates on both sides, or a shared secret that neither side sends.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect as connectTcp, createServer as createTcpServer, isIP, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'

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

const nonceBytes = 32
const proofBytes = 32
/** Ends a connection whose other end does not say what it should. */
const greetingMs = 5000

/** @param tree its identity: a secret that serves several trees proves nothing about another one */
export function createHostLink({ secret, ca, cert, key }: HostLinkSettings, tree: () => string): HostLink {
  const prove = (side: string, own: Buffer, other: Buffer) =>
    createHmac('sha256', secret).update(`async-crud-mcp ${side} ${tree()} `).update(own).update(other).digest()

  /** Both sides give a number that is used once; each proves that it knows the secret by signing both. */
  async function greet(socket: Socket, side: 'authority' | 'relay'): Promise<void> {
    const other = side === 'authority' ? 'relay' : 'authority'
    const nonce = randomBytes(nonceBytes)
    socket.write(nonce)
    const theirNonce = await readBytes(socket, nonceBytes)
    // The authority speaks last: a stranger learns nothing from it, and cannot send back what it hears.
    if (side === 'relay') socket.write(prove(side, nonce, theirNonce))
    const proof = await readBytes(socket, proofBytes)
    if (!timingSafeEqual(proof, prove(other, theirNonce, nonce)))
      throw new Error('the other host has another tree.relay_secret')
    if (side === 'authority') socket.write(prove(side, nonce, theirNonce))
  }

  if (secret !== '')
    return {
      createServer(accept) {
        return createTcpServer({ noDelay: true }, (socket) => {
          withinTime(socket, greet(socket, 'authority')).then(
            () => accept(socket),
            () => socket.destroy()
          )
        })
      },
      async connect(host, port, signal) {
        const socket = connectTcp({ host, port, noDelay: true, signal })
        await withinTime(socket, greet(socket, 'relay'))
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
      await withinTime(socket, new Promise<void>((resolve) => socket.once('secureConnect', resolve)))
      return socket
    }
  }
}

function readPem(path: string | null): Buffer | undefined {
  return path === null ? undefined : readFileSync(path)
}

/** @throws Error of the socket, or that it took too long; then the socket is closed */
async function withinTime(socket: Socket, greeting: Promise<void>): Promise<void> {
  let limit: NodeJS.Timeout | undefined
  let onEnd = () => {}
  let onError = (_error: Error) => {}
  const ended = new Promise<never>((_, reject) => {
    limit = setTimeout(() => reject(new Error('the other host does not answer')), greetingMs)
    onEnd = () => reject(new Error('the other host has closed the connection'))
    onError = reject
    socket.once('close', onEnd)
    socket.on('error', onError)
  })
  try {
    await Promise.race([greeting, ended])
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(limit)
    socket.off('close', onEnd)
    socket.on('error', () => {})
    socket.off('error', onError)
    greeting.catch(() => {})
  }
}

/** What comes behind stays in the socket, for who reads it next. */
function readBytes(socket: Socket, count: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const look = () => {
      const bytes = socket.read(count) as Buffer | null
      if (bytes === null) return
      socket.off('readable', look)
      resolve(bytes)
    }
    socket.on('readable', look)
    look()
  })
}
