// Sends a change by each transport, and reads of its answer what it says of the one file.
import type { Answer } from '../../fixtures/clients.ts'
import { hashOfBytes, replaced, type Case, type Options, type Outcome, type Way } from './way.ts'

type Input = (c: Case, options: Options) => Answer
type Sent = Pick<Way, 'operation' | 'make'>

/** @param callOf the part of the input that is about the call, and not about the file */
export function callsOf(callOf: (options: Options) => Answer) {
  const send = (operation: string, input: Input): Sent => ({
    operation,
    async make(c, options) {
      return outcomeOf(await c.world.call(c.ann, operation, { ...callOf(options), ...input(c, options) }))
    }
  })
  return {
    single: send,
    batch: (operation: string, item: Input, atomic: boolean): Sent => ({
      ...send(operation, (c, options) => ({ files: [item(c, options)], atomic })),
      operation: atomic ? operation : operation.replace('_batch', '')
    }),
    transaction: (kind: string, item: Input): Sent =>
      send('async_transaction', (c, options) => ({ changes: [{ operation: kind, ...item(c, options) }] }))
  }
}

function outcomeOf(answer: Answer, text = ''): Outcome {
  const item = itemIn(answer)
  const { status = answer['success'] === true ? 'ok' : undefined, error_code, error } = item
  const code = error === undefined ? (error_code ?? status) : String(error.data.details).replace(/:[^]*/, '')
  return { code: String(code), item, answer, text, isKept: item['kept'] !== false }
}

/** A list of the answer has one item for the one change. */
function itemIn(answer: Answer): Answer {
  const { status, results, changes, contentions, files } = answer
  const [first] = (results ?? contentions ?? changes ?? files ?? []) as Answer[]
  return first === undefined ? answer : { status, ...first }
}

async function send(
  { world, ann, path }: Case,
  method: string,
  { request, merge, format }: Options,
  more: Record<string, string>,
  body?: string | Buffer
): Promise<Outcome> {
  const headers = {
    'x-agent-id': ann,
    'x-change-set': 'the task',
    ...(request !== undefined && { 'idempotency-key': request }),
    ...(merge === true && { prefer: 'merge' }),
    ...(format === 'unified' && { accept: 'text/x-diff' }),
    ...more
  }
  const { status, body: answer, text, headers: answered } = await world.http(method, `files/${path}`, headers, body)
  if (status === 412 && !text.startsWith('{')) return { code: 'contention', item: {}, answer, text, isKept: true }
  const outcome = outcomeOf(answer, text)
  // A client that looks at the headers alone is told, too.
  return { ...outcome, isKept: answered.get('x-kept') !== 'false' }
}

function matching({ text }: Case, { expected = hashOfBytes(text) }: Options): Record<string, string> {
  return expected === null ? {} : { 'if-match': `"${expected}"` }
}

export const sent = {
  put: (c: Case, options: Options) =>
    send(c, 'PUT', options, matching(c, options), Buffer.from(replaced(options.said ?? c.said, options), 'latin1')),
  patch:
    (input: Input): Way['make'] =>
    (c, options) => {
      const { unified_diff: diff, ...json } = input(c, options)
      const [type, body] =
        typeof diff === 'string'
          ? ['text/x-diff', Buffer.from(diff, 'latin1')]
          : ['application/json', JSON.stringify(json)]
      return send(c, 'PATCH', options, { 'content-type': type, ...matching(c, options) }, body)
    },
  remove: (c: Case, options: Options) => send(c, 'DELETE', options, matching(c, options)),
  edit: (expectedBy: Input, more: (options: Options) => Answer): Way['make'] => {
    return async (c, options) => {
      const { line = 10, words = 'mine' } = options
      const edits = [{ line, content: words, operation: 'replace' }]
      const input = { name: c.path, edits, ...expectedBy(c, options), ...more(options) }
      return outcomeOf(await c.world.call(c.ann, 'edit_file', input))
    }
  },
  /** Claude Code asks before its tool runs, and reports what it has done. */
  native:
    (tool: 'Edit' | 'Write'): Way['make'] =>
    async (c, options) => {
      const next = replaced(options.said ?? c.said, options)
      const line = `line ${String(options.line ?? 10).padStart(2, '0')}.`
      const file_path = c.world.tree.path(c.path)
      const input =
        tool === 'Write'
          ? { file_path, content: next }
          : { file_path, old_string: line, new_string: options.words ?? 'mine' }
      const tool_use_id = `toolu-${c.ann}`
      const event = {
        session_id: c.ann.split('/')[1],
        cwd: c.world.tree.root,
        tool_name: tool,
        tool_input: input,
        tool_use_id
      }
      const hook = async (hook_event_name: string, more: object = {}) => {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ hook_event_name, ...event, ...more })
        const answer = (await c.world.http('POST', 'hooks/claude-code', headers, body)).body
        return (answer['hookSpecificOutput'] ?? answer) as Answer
      }
      const before = await hook('PreToolUse')
      const refusal = before['permissionDecisionReason'] as string | undefined
      if (refusal !== undefined) return { code: 'refused', item: {}, answer: before, text: refusal, isKept: true }
      // A tool that writes in place.
      c.write(tool === 'Write' ? next : replaced(c.read(c.path) ?? '', options))
      const after = await hook('PostToolUse', { tool_response: {} })
      return { code: 'ok', item: {}, answer: after, text: String(after['additionalContext'] ?? ''), isKept: true }
    }
}
