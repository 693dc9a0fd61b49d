// Who calls, as the header X-Agent-Id says it.

/**
 * Node and the web give the bytes of a header as Latin-1: a name that is UTF-8 is read as that, so that it is one with the agent_id of
 * the same letters. Undefined where the header is missing, given twice, or empty.
 */
export function readAgentHeader(header: unknown): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  const bytes = Buffer.from(header, 'latin1')
  if (bytes.toString('latin1') !== header) return header
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return header
  }
}
