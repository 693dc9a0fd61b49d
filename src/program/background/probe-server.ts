// Asks a server for its health, and which tree it serves.
import { realpathSync } from 'node:fs'
import type { ServerInfoOutput } from '../../../schemas/server-info.ts'
import type { Health } from '../../../schemas/health.ts'
import { orUndefined } from '../../support/attempt.ts'
import { below } from '../../support/relocate.ts'

export interface HealthAnswer {
  /** "refused": a server answers there, and does not accept our token. */
  readonly state: 'healthy' | 'degraded' | 'refused' | 'unreachable' | 'foreign'
  readonly version?: string
  readonly uptimeSeconds?: number
  /** The parts that do not work as they should. */
  readonly degraded?: readonly string[]
}

/** Less than a check of doctor may take. */
const timeoutMs = 3000

/** Whether one of our servers answers there, even if it asks for another token. */
export function isServing({ state }: HealthAnswer): boolean {
  return state === 'healthy' || state === 'degraded' || state === 'refused'
}

/** @param url of the MCP endpoint; the other routes are beside it */
export async function askHealth(url: string, token: string): Promise<HealthAnswer> {
  try {
    const response = await fetch(new URL('health', url), {
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs)
    })
    if (response.status === 401 || response.status === 403) return { state: 'refused' }
    const answer = (await response.json()) as Partial<Health>
    if (answer.status !== 'healthy' && answer.status !== 'degraded') return { state: 'foreign' }
    const degraded = (answer.degraded ?? []).map(({ part, message }) => `${part}: ${message}`)
    return {
      state: answer.status,
      version: String(answer.version),
      uptimeSeconds: Number(answer.uptime_seconds),
      degraded
    }
  } catch (error) {
    return { state: error instanceof SyntaxError ? 'foreign' : 'unreachable' }
  }
}

/**
 * The tree of a server, if it is a folder of this machine that the given one is not in; undefined, too, if the server does not tell.
 * @param url as for `askHealth`
 */
export async function findOtherTree(url: string, folder: string): Promise<string | undefined> {
  try {
    const headers = { 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(timeoutMs)
    const address = new URL('get_server_info', url)
    const response = await fetch(address, { method: 'POST', headers, body: '{}', redirect: 'error', signal })
    const { project } = (await response.json()) as Partial<ServerInfoOutput>
    const root = orUndefined(() => realpathSync.native(project?.root ?? ''))
    return root === undefined || below(root, realpathSync.native(folder)) !== undefined ? undefined : root
  } catch {
    return undefined
  }
}
