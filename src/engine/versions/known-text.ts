// The text of one version, and what answers need of it, each worked out once.
import { countLines, splitMark } from '../diff/lines.ts'

export class KnownText {
  /** With its byte order mark. */
  readonly text: string
  /** Without it. */
  readonly body: string
  /** Lines of the body. */
  readonly lines: number
  #json: Buffer | undefined
  #escapedJson: Buffer | undefined

  constructor(text: string) {
    this.text = text
    this.body = splitMark(text).body
    this.lines = countLines(this.body)
  }

  /** The body as a string of JSON. */
  get json(): Buffer {
    this.#json ??= Buffer.from(JSON.stringify(this.body))
    return this.#json
  }

  /** That JSON as a part of a string of JSON, without quotes around it. */
  get escapedJson(): Buffer {
    this.#escapedJson ??= Buffer.from(JSON.stringify(JSON.stringify(this.body)).slice(1, -1))
    return this.#escapedJson
  }
}
