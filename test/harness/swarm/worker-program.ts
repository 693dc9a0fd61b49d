// A client process of the swarm: reads each file once, then makes its rounds, retrying from contention answers alone. It reads
// again only where the answer says that this is cheaper than the diff.
import { createHash } from 'node:crypto'
import type { Contention } from '../../../schemas/contention.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { applyDiff } from './apply-diff.ts'
import { connectClient, type SwarmClient } from './client.ts'
import { createRandom } from '../../fixtures/random.ts'
import { applyEdit, craftEdit, type Edit } from './edits.ts'
import { go, markerOf, type WorkerMessage, type WorkerReport, type WorkerTask } from './protocol.ts'

/** What this client knows of a file. */
interface Copy {
  text: string
  hash: string
  /** The answer to its last read: what reading again would have looked like. */
  read: Answer
}

/** A client that cannot get its change in has met a defect, not bad luck. */
const maxRetries = 1000

const task = JSON.parse(process.argv[2] ?? '') as WorkerTask
const random = createRandom(task.seed)
const copies = new Map<string, Copy>()
const report: WorkerReport = {
  id: task.id,
  transport: task.transport,
  acknowledged: [],
  retries: [],
  reads: 0,
  readsAdvised: 0,
  contentions: 0,
  conflicts: 0,
  resubmitted: 0,
  contentionBytes: 0,
  rereadBytes: 0,
  problems: []
}

const client = await connectClient(task.transport, task.url, task.id)
for (const file of task.files) copies.set(file, await read(client, file))
send({ type: 'ready' })
await new Promise<void>((resolve) => process.once('message', (message) => message === go && resolve()))
const cpuAtStart = process.cpuUsage()
try {
  for (let round = 0; round < task.rounds; round += 1) await playRound(client, pickFile(), markerOf(task.id, round))
} catch (error) {
  report.problems.push(`${task.id}: ${error instanceof Error ? error.message : String(error)}`)
}
const cpu = process.cpuUsage(cpuAtStart)
await client.close().catch(() => {})
send({ type: 'done', report, cpuMs: (cpu.user + cpu.system) / 1000 })
process.disconnect()

async function read(client: SwarmClient, file: string): Promise<Copy> {
  report.reads += 1
  const { answer } = await client.call('async_read', { path: file })
  if (answer['status'] !== 'ok') throw new Error(`reading ${file}: ${JSON.stringify(answer)}`)
  return { text: answer['content'] as string, hash: answer['hash'] as string, read: answer }
}

/** Sends one edit until it is acknowledged. */
async function playRound(client: SwarmClient, file: string, marker: string): Promise<void> {
  const copy = copies.get(file) as Copy
  let edit = craftEdit(copy.text, marker, random)
  for (let retries = 0; retries <= maxRetries; retries += 1) {
    const input = { path: file, expected_hash: copy.hash, diff_format: task.diffFormat, ...edit }
    const { answer, httpStatus, bytes } = await client.call('async_update', input)
    if (httpStatus >= 500) throw new Error(`answer ${httpStatus}: ${JSON.stringify(answer)}`)
    if (answer['status'] === 'ok') {
      acknowledge(copy, edit, file, marker, answer)
      report.retries.push(retries)
      return
    }
    if (answer['status'] !== 'contention') throw new Error(`round for ${marker}: ${JSON.stringify(answer)}`)
    const readBytes = await catchUp(client, file, copy, answer as unknown as Contention)
    report.contentionBytes += bytes + readBytes
    report.rereadBytes += client.sizeOf({ ...copy.read, content: copy.text })
    edit = adjust(copy, edit, marker, answer as unknown as Contention)
  }
  throw new Error(`${marker} was not acknowledged after ${maxRetries} retries`)
}

function acknowledge(copy: Copy, edit: Edit, file: string, marker: string, answer: Answer): void {
  const { previous_hash: previousHash, hash } = answer as { previous_hash: string; hash: string }
  // Acknowledged is acknowledged, whatever else is wrong: the final check looks for it.
  report.acknowledged.push({ file, marker, previousHash, hash })
  if (previousHash !== copy.hash) throw new Error(`${marker} was acknowledged on a version it was not made for`)
  copy.text = applyEdit(copy.text, edit)
  copy.hash = hashOf(copy.text)
  if (copy.hash !== hash) throw new Error(`${marker} was acknowledged with the hash of another text than was sent`)
}

/** Brings the copy up to date by the diff, or by reading where the answer only names lines. @returns bytes of what was read */
async function catchUp(client: SwarmClient, file: string, copy: Copy, answer: Contention): Promise<number> {
  report.contentions += 1
  if (answer.expected_hash !== copy.hash) throw new Error('contention about a version that was not sent')
  if (answer.diff === null) throw new Error(`contention without a diff: ${answer.message}`)
  if (answer.diff.format === 'lines') {
    report.readsAdvised += 1
    Object.assign(copy, await read(client, file))
    return client.sizeOf(copy.read)
  }
  copy.text = applyDiff(copy.text, answer.diff)
  copy.hash = answer.current_hash
  if (hashOf(copy.text) !== copy.hash) throw new Error(`the ${answer.diff.format} diff does not give the current bytes`)
  return 0
}

/** Makes the edit anew, or leaves it where the server says that it still applies. */
function adjust(copy: Copy, edit: Edit, marker: string, answer: Contention): Edit {
  if (copy.text.includes(marker)) throw new Error(`${marker} was written although its update was not acknowledged`)
  if (answer.patches_applicable === false) report.conflicts += 1
  const isApplicable = answer.patches_applicable === true && copy.hash === answer.current_hash
  if (!isApplicable || random() < 0.5) return craftEdit(copy.text, marker, random)
  report.resubmitted += 1
  return edit
}

function pickFile(): string {
  return task.files[Math.floor(random() * task.files.length)] as string
}

function hashOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function send(message: WorkerMessage): void {
  process.send?.(message)
}
