// A process of its own: one client that asks for as much as it can at once, each request on a connection of its own.
import { createHash } from 'node:crypto'
import { RawConnection } from '../load/raw-connection.ts'
import { sourceText } from '../sources.ts'
import { largeBytes, largeName, type GreedyTask } from './greedy.ts'

process.on('message', (task: GreedyTask) => void run(task).then((answers) => process.send?.(answers)))

/** @returns how often each status and error code was answered */
async function run({ url, greed, count, round }: GreedyTask): Promise<Record<string, number>> {
  const { host } = new URL(url)
  const text = sourceText(largeBytes)
  const requests = Array.from({ length: count }, (_, index) => {
    const { operation, body } = toRequest(greed, index, `${round}-${index}`, text)
    const head = `POST /${operation} HTTP/1.1\r\nhost: ${host}\r\nx-agent-id: greedy\r\ncontent-type: application/json\r\ncontent-length: `
    return Buffer.from(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)
  })
  // Made before: its own work must not take the time of the others.
  process.send?.('ready')
  const answers: Record<string, number> = {}
  await Promise.all(
    requests.map(async (request) => {
      const status = await send(url, request)
      answers[status] = (answers[status] ?? 0) + 1
    })
  )
  return answers
}

async function send(url: string, request: Buffer): Promise<string> {
  const connection = await RawConnection.open(url)
  try {
    const { status, body } = await connection.send(request)
    return `${status} ${/"error_code":"([A-Z_]+)/.exec(body.toString('latin1', 0, 1000))?.[1] ?? ''}`.trim()
  } catch {
    return 'closed'
  } finally {
    connection.close()
  }
}

function toRequest(greed: GreedyTask['greed'], index: number, unique: string, text: string) {
  const path = largeName(index)
  switch (greed) {
    case 'bodies of 10 MB':
      return { operation: 'async_write', body: JSON.stringify({ path: `new-${unique}`, content: text }) }
    case 'reads of 10 MB':
      return { operation: 'async_read', body: JSON.stringify({ path }) }
    case 'deep JSON of 10 MB':
      return { operation: 'async_read', body: '['.repeat(largeBytes / 2) + ']'.repeat(largeBytes / 2) }
    case 'wide JSON of 10 MB':
      return { operation: 'async_read', body: `{"path":[${'{},'.repeat(largeBytes / 3)}{}]}` }
    case 'nearest-text searches in 10 MB': {
      const expected_hash = `sha256:${createHash('sha256').update(text).digest('hex')}`
      const patches = [{ old_string: lateText(text), new_string: '' }]
      return { operation: 'async_update', body: JSON.stringify({ path, expected_hash, patches }) }
    }
    default:
      return greed satisfies never
  }
}

/** Lines that stand nearly so in the file, one character apart. */
function lateText(text: string): string {
  return text.slice(-2000).replace(/[a-z](?=[^a-z]*$)/, '#')
}
