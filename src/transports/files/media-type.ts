// The media type of a file, by its name and its bytes.
import { isUtf8 } from 'node:buffer'
import mime from 'mime/lite'

const unknown = 'application/octet-stream'
const isTextType = /^text\/|[+/](json|xml|javascript|yaml|toml)$/

/** Text is never called by a name that means something else, as `.ts` means a video to the list of types. */
export function mediaTypeOf(path: string, bytes: Buffer): string {
  const named = mime.getType(path) ?? unknown
  const isText = isUtf8(bytes) && !bytes.includes(0)
  if (!isText) return named
  return `${isTextType.test(named) ? named : 'text/plain'}; charset=utf-8`
}
