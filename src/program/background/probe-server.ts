// Asks a server for its health.
import type { Health } from '../../../schemas/health.ts'

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
