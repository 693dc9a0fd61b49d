// async-crud-mcp hook <harness>: passes what a harness reports of its own tools to the server, and prints the answer.
import { text } from 'node:stream/consumers'
import { parseFields } from '../../support/json-fields.ts'
import { readLines } from '../../support/read-lines.ts'
import { answerEvent, type HookOptions } from './answer-event.ts'
import { readFlags } from './options.ts'

/** Above what any event holds: of a line that is longer, nothing is read. */
const maxEventBytes = 67_108_864

/** Ends with 0: harnesses read the answer after 0 only. With 2, which they take as a refusal, only if there is no form for an answer. */
export async function runHook(args: readonly string[]): Promise<void> {
  const { stays, ...options } = readFlags(args)
  if (stays) return answerLines(options)
  const { json, failure, isRefused } = await answerEvent(text(process.stdin), options)
  if (failure !== undefined) process.stderr.write(`${failure}\n`)
  if (isRefused === true && options.harness === '') process.exitCode = 2
  // A harness that keeps standard input open must not keep this process running.
  process.stdin.destroy()
  if (json !== '{}') process.stdout.write(`${json}\n`)
}

/**
 * Stays for all events of a harness that can hold a process open. Each line is `{"id", "event"}`, and is answered by `{"id", "answer"}`, in
 * whatever order the answers come. It ends with its standard input.
 */
async function answerLines(given: HookOptions): Promise<void> {
  const asked = new Set<Promise<void>>()
  for await (const line of readLines(process.stdin, maxEventBytes)) {
    const work = answerLine(line?.toString('utf8') ?? '', given).finally(() => asked.delete(work))
    asked.add(work)
  }
  await Promise.all(asked)
}

async function answerLine(line: string, given: HookOptions): Promise<void> {
  const { id = null, event = null } = parseFields(line) ?? {}
  const { json, failure } = await answerEvent(JSON.stringify(event), given)
  if (failure !== undefined) process.stderr.write(`${failure}\n`)
  process.stdout.write(`{"id":${JSON.stringify(id)},"answer":${json}}\n`)
}
