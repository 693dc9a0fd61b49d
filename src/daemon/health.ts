// Asks a server whether it is well.

export interface HealthAnswer {
  /** "refused": something answers there, and does not take our token. */
  readonly state: 'healthy' | 'refused' | 'unreachable' | 'foreign'
  readonly version?: string
  readonly uptimeSeconds?: number
}

const timeoutMs = 2000

/** @param url of the MCP endpoint; the other routes stand beside it */
export async function askHealth(url: string, token: string): Promise<HealthAnswer> {
  try {
    const response = await fetch(new URL('health', url), {
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs)
    })
    if (response.status === 401 || response.status === 403) return { state: 'refused' }
    const answer = (await response.json()) as { status?: unknown; version?: unknown; uptime_seconds?: unknown }
    if (answer.status !== 'healthy') return { state: 'foreign' }
    return { state: 'healthy', version: String(answer.version), uptimeSeconds: Number(answer.uptime_seconds) }
  } catch (error) {
    return { state: error instanceof SyntaxError ? 'foreign' : 'unreachable' }
  }
}
