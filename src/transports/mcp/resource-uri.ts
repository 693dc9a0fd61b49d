// file:/// addresses of files, as MCP names its resources.
import { pathToFileURL } from 'node:url'
import { OperationError } from '../../errors.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { fromFileUri } from '../../support/file-uri.ts'

/** @throws OperationError INVALID_REQUEST for anything but the address of a file */
export function toPath(uri: string): string {
  const path = fromFileUri(uri)
  if (path !== undefined) return path
  const message = `Not the URI of a file: ${beginningOf(uri, 200).toWellFormed()}. A resource URI is file:/// and the absolute path, with escapes such as %20, without a query or a fragment.`
  throw new OperationError('INVALID_REQUEST', message)
}

export function toUri(path: string): string {
  return pathToFileURL(path).href
}
