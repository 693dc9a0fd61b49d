// The text of an HTTP header, whose bytes Node and the web give as Latin-1.

/** Decodes bytes that are UTF-8 as UTF-8, so that a name or a token is the same as in a body. Undefined for a missing, repeated or empty header. */
export function headerText(header: unknown): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  const bytes = Buffer.from(header, 'latin1')
  if (bytes.toString('latin1') !== header) return header
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return header
  }
}
