// The first words on a connection between processes of one tree: each proves that it knows a secret, which neither of them sends.
import type { Socket } from 'node:net'
import { lazyCrypto } from '../../support/lazy-crypto.ts'

/** The authority listens, the relay connects. */
export type Side = 'authority' | 'relay'

export interface Greeting {
  readonly secret: string
  /** What the secret is for: a proof for one tree is none for another tree with the same secret. */
  readonly tree: string
}

const nonceBytes = 32
const proofBytes = 32

/**
 * Both sides give a number that is used once. Each proves that it knows the secret by signing both numbers.
 * @throws Error if the other end has answered, and does not know the secret
 */
export async function greet(socket: Socket, side: Side, { secret, tree }: Greeting): Promise<void> {
  const { createHmac, randomBytes, timingSafeEqual } = lazyCrypto()
  const prove = (prover: Side, own: Buffer, other: Buffer) =>
    createHmac('sha256', secret).update(`async-crud-mcp ${prover} ${tree} `).update(own).update(other).digest()
  const other = side === 'authority' ? 'relay' : 'authority'
  const nonce = randomBytes(nonceBytes)
  socket.write(nonce)
  const theirNonce = await readBytes(socket, nonceBytes)
  // The authority speaks last: a stranger learns nothing from it, and cannot send back what it hears.
  if (side === 'relay') socket.write(prove(side, nonce, theirNonce))
  const proof = await readBytes(socket, proofBytes)
  if (!timingSafeEqual(proof, prove(other, theirNonce, nonce))) throw new Error('the other end has another secret')
  if (side === 'authority') socket.write(prove(side, nonce, theirNonce))
}

/**
 * Waits for what a connection begins with.
 * @throws Error of the socket, of what is awaited, or that it took too long; then the socket is closed
 */
export async function withinTime(socket: Socket, limitMs: number, awaited: Promise<void>): Promise<void> {
  let limit: NodeJS.Timeout | undefined
  let onEnd = () => {}
  let onError = (_error: Error) => {}
  const ended = new Promise<never>((_, reject) => {
    limit = setTimeout(() => reject(new Error(`the other end says nothing for ${limitMs / 1000} s`)), limitMs)
    onEnd = () => reject(new Error('the other end has closed the connection'))
    onError = reject
    socket.once('close', onEnd)
    socket.on('error', onError)
  })
  try {
    await Promise.race([awaited, ended])
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(limit)
    socket.off('close', onEnd)
    socket.on('error', () => {})
    socket.off('error', onError)
    awaited.catch(() => {})
  }
}

/** Later bytes stay in the socket for its next reader. */
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
