// Request bodies that are not taken: in another encoding of characters, or compressed.
import { OperationError } from '../errors.ts'

/** @throws OperationError UNSUPPORTED_MEDIA_TYPE */
export function checkCharset(contentType = ''): void {
  const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1]
  if (charset === undefined || /^utf-?8$/i.test(charset)) return
  throw new OperationError('UNSUPPORTED_MEDIA_TYPE', `Request bodies are JSON in UTF-8, not ${charset}.`)
}

/** @throws OperationError UNSUPPORTED_MEDIA_TYPE */
export function checkEncoding(contentEncoding = ''): void {
  if (/^(identity)?$/i.test(contentEncoding)) return
  const given = JSON.stringify(contentEncoding.slice(0, 100))
  const message = `Content-Encoding ${given} is not supported: send the body uncompressed, without this header.`
  throw new OperationError('UNSUPPORTED_MEDIA_TYPE', message)
}
