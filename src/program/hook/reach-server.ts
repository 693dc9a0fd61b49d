// The way to a server: its address, or the socket of its tree, which asks its own user for no token. Loads as little of Node as possible.
import type { Server } from './find-server.ts'

interface Ways<Answer> {
  /** @throws TokenMissing */
  readonly overHttp: (url: URL) => Promise<Answer>
  /** @param root real path of the first root */
  readonly throughSocket: (root: string) => Promise<Answer>
}

/** The server wants another token than the one sent, or any. */
export class TokenMissing extends Error {}

/** @param token of this program; the socket takes the place of one that is not there, and never of a wrong one */
export async function reachServer<Answer>({ url, root }: Server, token: string, ways: Ways<Answer>): Promise<Answer> {
  if (url === undefined) return ways.throughSocket(root ?? '')
  try {
    return await ways.overHttp(url)
  } catch (error) {
    if (!(error instanceof TokenMissing) || root === undefined || token !== '') throw error
    return ways.throughSocket(root)
  }
}
