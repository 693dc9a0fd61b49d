// JSON-RPC over the stdio of a child process, with several calls under way at once; answers are told apart without parsing them whole.
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

type Waiting = { readonly resolve: (line: Buffer) => void; readonly reject: (error: Error) => void }

/** How our server begins an answer, and how those of the SDK begin and end theirs; the id is ours. */
const answerHead = /^\{"jsonrpc":"2\.0","id":(\d+),"(result|error)"/
const sdkHead = /^\{"(result|error)"/
const sdkEnd = /,"jsonrpc":"2\.0","id":(\d+)\}$/

/** Calls a method and resolves with the line of its answer; rejects where it is an error. */
export type StdioCall = (method: string, params: object) => Promise<Buffer>

export function connectStdio({ stdin, stdout }: ChildProcessByStdio<Writable, Readable, null>): StdioCall {
  const waiting = new Map<number, Waiting>()
  let parts: Buffer[] = []
  let lastId = 0

  stdout.on('data', (data: Buffer) => {
    let start = 0
    for (let end = data.indexOf('\n'); end !== -1; end = data.indexOf('\n', start)) {
      take(Buffer.concat([...parts, data.subarray(start, end)]))
      parts = []
      start = end + 1
    }
    if (start < data.length) parts.push(data.subarray(start))
  })
  stdout.once('end', () => {
    for (const { reject } of waiting.values()) reject(new Error('the server ended its output'))
  })

  function take(line: Buffer): void {
    const { id, outcome } = readEnvelope(line)
    const call = waiting.get(Number(id))
    waiting.delete(Number(id))
    if (outcome === 'result') call?.resolve(line)
    else call?.reject(new Error(line.toString('utf8', 0, 1000)))
  }

  return (method, params) => {
    lastId += 1
    const id = lastId
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
  }
}

/** Without an id for whatever is no answer. */
function readEnvelope(line: Buffer): { id?: string | undefined; outcome?: string | undefined } {
  const head = line.toString('latin1', 0, 100)
  const [, id, outcome] = answerHead.exec(head) ?? []
  if (id !== undefined) return { id, outcome }
  return { id: sdkEnd.exec(line.toString('latin1', line.length - 100))?.[1], outcome: sdkHead.exec(head)?.[1] }
}
