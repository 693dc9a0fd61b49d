// file: addresses (RFC 8089) as paths of this machine.
import { fileURLToPath } from 'node:url'
import { orUndefined } from './attempt.ts'

/** Longer ones name no file. */
const maxUriLength = 16_384

export function isFileUri(text: string): boolean {
  return /^file:/i.test(text)
}

/**
 * Undefined for anything but the address of one whole file of this machine: no other host, no query, no place in the file, no escaped slash,
 * and an absolute path.
 */
export function fromFileUri(uri: string): string | undefined {
  if (!/^file:\//i.test(uri) || uri.length > maxUriLength || /[?#]/.test(uri)) return undefined
  // It throws for invalid escapes, an escaped slash, another host.
  return orUndefined(() => fileURLToPath(uri))
}
