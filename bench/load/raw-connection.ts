// One keep-alive HTTP connection that sends prepared bytes and does little with the answer: a client's own cost must not hide the server's.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Owner } from '../owner.ts'

export interface RawAnswer {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  /** Without its transfer coding. */
  readonly body: Buffer
}

type State = 'head' | 'body' | 'chunk-size' | 'chunk'

export class RawConnection {
  readonly #socket: Socket
  #state: State = 'head'
  #pending: Buffer = Buffer.alloc(0)
  #head = ''
  #parts: Buffer[] = []
  /** Bytes of the body, or of the chunk, still to come. */
  #left = 0
  #isLastChunk = false
  #waiting: { resolve(answer: RawAnswer): void; reject(error: Error): void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (data) => {
      this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
      while (this.#step()) continue
    })
    socket.on('error', (error) => this.#waiting?.reject(error))
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')))
  }

  /** @param owner closes it at its end; without one the caller does */
  static async open(url: string, owner?: Owner): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const connection = new RawConnection(socket)
    owner?.teardown(() => connection.close())
    return connection
  }

  /** One request at a time. */
  send(request: Buffer): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  /** False where it needs more bytes, or has the whole answer. */
  #step(): boolean {
    if (this.#state === 'head') return this.#takeHead()
    if (this.#state === 'body') return this.#takePart() && this.#finish()
    return this.#state === 'chunk-size' ? this.#takeChunkSize() : this.#takeChunk()
  }

  #takeHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n')
    if (end === -1) return false
    this.#head = this.#pending.toString('latin1', 0, end)
    this.#pending = this.#pending.subarray(end + 4)
    this.#left = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0)
    this.#state = /\r\ntransfer-encoding: *chunked/i.test(this.#head) ? 'chunk-size' : 'body'
    return true
  }

  #takeChunkSize(): boolean {
    const end = this.#pending.indexOf('\r\n')
    if (end === -1) return false
    this.#left = Number.parseInt(this.#pending.toString('latin1', 0, end), 16)
    this.#isLastChunk = this.#left === 0
    this.#pending = this.#pending.subarray(end + 2)
    this.#state = 'chunk'
    return true
  }

  #takeChunk(): boolean {
    if (!this.#takePart() || this.#pending.length < 2) return false
    this.#pending = this.#pending.subarray(2)
    this.#state = 'chunk-size'
    return this.#isLastChunk ? this.#finish() : true
  }

  /** True once everything of this part is there. */
  #takePart(): boolean {
    const part = this.#pending.subarray(0, this.#left)
    if (part.length > 0) this.#parts.push(part)
    this.#pending = this.#pending.subarray(part.length)
    this.#left -= part.length
    return this.#left === 0
  }

  #finish(): false {
    const [only] = this.#parts
    const body = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts)
    this.#parts = []
    this.#state = 'head'
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ status: Number(this.#head.slice(9, 12)), head: this.#head, body })
    return false
  }
}
