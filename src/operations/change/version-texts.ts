// The texts of a file's versions in the encoding of a call, each decoded once.
import { decodeIfText, decodeText, encodeText, keepMark } from '../../engine/files/text.ts'

export class VersionTexts {
  readonly encoding: string
  readonly #path: string
  readonly #known = new Map<Buffer, string>()

  /** @param path as the caller spelt it, for messages */
  constructor(encoding: string, path: string) {
    this.encoding = encoding
    this.#path = path
  }

  /** @throws OperationError ENCODING_ERROR */
  decode(bytes: Buffer): string {
    const text = this.#known.get(bytes) ?? decodeText(bytes, this.encoding, this.#path)
    this.#known.set(bytes, text)
    return text
  }

  /** Undefined if the bytes are gone or are not text in this encoding. */
  decodeIfText(bytes: Buffer | undefined): string | undefined {
    if (bytes === undefined) return undefined
    const text = this.#known.get(bytes) ?? decodeIfText(bytes, this.encoding, this.#path)
    if (text !== undefined) this.#known.set(bytes, text)
    return text
  }

  /** @param like the version that the text replaces @throws OperationError ENCODING_ERROR */
  encode(text: string, like?: Buffer): Buffer {
    return encodeText(text, this.encoding, this.#path, like)
  }

  /** Whole new content, behind the byte order mark of the version that it replaces. */
  keepMark(content: string, version: Buffer): string {
    return keepMark(content, version, this.encoding, this.#path)
  }

  /** An encoding that does not exist is a fault of the call, whatever the file contains. @throws OperationError ENCODING_ERROR */
  assertEncoding(): void {
    this.encode('')
  }
}
