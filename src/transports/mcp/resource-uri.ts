// file:/// addresses of files, as MCP names its resources.
import { fileURLToPath, pathToFileURL } from 'node:url'
import { OperationError } from '../../errors.ts'
import { beginningOf } from '../../support/cut-text.ts'

/** Longer ones name no file. */
const maxUriLength = 16_384

/** @throws OperationError INVALID_REQUEST for anything but the address of a file */
export function toPath(uri: string): string {
  try {
    if (uri.startsWith('file:///') && uri.length <= maxUriLength) return fileURLToPath(uri)
  } catch {
    // Invalid escapes, or an escaped slash.
  }
  const message = `Not the URI of a file: ${beginningOf(uri, 200).toWellFormed()}. A resource URI is file:/// and the absolute path, with escapes such as %20.`
  throw new OperationError('INVALID_REQUEST', message)
}

export function toUri(path: string): string {
  return pathToFileURL(path).href
}
