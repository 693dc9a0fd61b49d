// Random work of two harnesses and two agents of the server on one file, beside a model that knows which lines each of them has seen:
// no whole file is replaced by one that has not seen a line of it, and what a session makes itself is neither told to it nor refused.
import t from 'tap'
import { connect, type Answer, type TestClient } from '../fixtures/clients.ts'
import { givenSeed, lengthOf } from '../fixtures/length.ts'
import { startHooks } from '../fixtures/native-session.ts'
import { createRandom } from '../fixtures/random.ts'
import { hashOf, type Tree } from '../fixtures/tree.ts'

type Random = (below: number) => number
type Ask = (harness: string, event: object) => Promise<Answer>

/** What a model of a session sends and hears. */
interface Driver {
  readonly agentId: string
  readonly read: (first: number, lines: readonly string[], total: number) => Promise<string>
  readonly grep: (line: number, text: string) => Promise<string>
  /** @returns the refusal, or "" */
  readonly before: (edit: Edit) => Promise<string>
  readonly after: (edit: Edit, isMade: boolean) => Promise<string>
}

interface Edit {
  readonly id: string
  readonly path: string
  /** Without it the edit replaces the whole file. */
  readonly old?: string
  readonly text: string
}

function claude(ask: Ask, root: string, session: string): Driver {
  const tool = async (hook_event_name: string, tool_name: string, tool_input: object, more: object = {}) => {
    const event = { session_id: session, cwd: root, hook_event_name, tool_name, tool_input, ...more }
    const { permissionDecisionReason = '', additionalContext = '' } =
      (await ask('claude-code', event))['hookSpecificOutput'] ?? {}
    return `${permissionDecisionReason}${additionalContext}`
  }
  const edited = (name: string, { id, path, old, text }: Edit, more: object = {}) =>
    old === undefined
      ? tool(name, 'Write', { file_path: path, content: text }, { tool_use_id: id, ...more })
      : tool(name, 'Edit', { file_path: path, old_string: old, new_string: text }, { tool_use_id: id, ...more })
  return {
    agentId: `claude-code/${session}`,
    read(startLine, lines, totalLines) {
      const file = { content: lines.join('\n'), startLine, numLines: lines.length, totalLines }
      return tool('PostToolUse', 'Read', { file_path: 'f' }, { tool_response: { type: 'text', file } })
    },
    grep: (line, text) =>
      tool(
        'PostToolUse',
        'Grep',
        { pattern: 'x' },
        { tool_response: { mode: 'content', content: `f:${line}:${text}` } }
      ),
    before: (edit) => edited('PreToolUse', edit),
    after: (edit, isMade) =>
      isMade ? edited('PostToolUse', edit, { tool_response: {} }) : edited('PostToolUseFailure', edit, { error: 'x' })
  }
}

function gemini(ask: Ask, root: string, session: string): Driver {
  const tool = async (hook_event_name: string, tool_name: string, tool_input: object, llmContent = '', more = {}) => {
    const tool_response = { llmContent, ...more }
    const answer = await ask('gemini', {
      session_id: session,
      cwd: root,
      hook_event_name,
      tool_name,
      tool_input,
      ...(hook_event_name === 'AfterTool' && { tool_response })
    })
    return `${answer['reason'] ?? ''}${answer['hookSpecificOutput']?.additionalContext ?? ''}`
  }
  const edited = (name: string, { path, old, text }: Edit, more: object = {}) =>
    old === undefined
      ? tool(name, 'write_file', { file_path: path, content: text }, 'x', more)
      : tool(name, 'replace', { file_path: path, old_string: old, new_string: text }, 'x', more)
  return {
    agentId: `gemini/${session}`,
    read(first, lines, total) {
      const head = `\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines ${first}-${first + lines.length - 1} of ${total} total lines.\nAction: x\n\n--- FILE CONTENT (truncated) ---\n`
      const isWhole = lines.length === total
      return tool(
        'AfterTool',
        'read_file',
        { file_path: 'f' },
        isWhole ? `${lines.join('\n')}\n` : `${head}${lines.join('\n')}`
      )
    },
    grep: (line, text) => tool('AfterTool', 'grep_search', { pattern: 'x' }, `---\nFile: f\nL${line}: ${text}\n---`),
    before: (edit) => edited('BeforeTool', edit),
    after: (edit, isMade) => edited('AfterTool', edit, isMade ? {} : { error: { message: 'x' } })
  }
}

/** Texts of lines are never used twice, so what an agent has seen is a set of texts. */
class Model {
  readonly seen = new Map<string, Set<string>>()
  /** Agents that have seen the whole file, which no other has changed since. */
  readonly clean = new Set<string>()
  readonly tree: Tree
  readonly random: Random
  next = 0

  constructor(tree: Tree, random: Random) {
    this.tree = tree
    this.random = random
  }

  fresh(): string {
    return `line ${(this.next += 1)}.`
  }

  get lines(): string[] {
    return this.tree.read('f').split('\n').slice(0, -1)
  }

  write(lines: readonly string[]): void {
    this.tree.write('f', lines.map((line) => `${line}\n`).join(''))
  }

  see(agent: string, lines: readonly string[]): void {
    const known = this.seen.get(agent) ?? new Set()
    for (const line of lines) known.add(line)
    this.seen.set(agent, known)
    if (lines.length === this.lines.length) this.clean.add(agent)
  }

  /** The lines in an answer that are the file's. */
  hear(agent: string, answer: string): void {
    const shown = answer.split('\n').flatMap((line) => (/^[+ ]/.test(line) ? [line.slice(1)] : []))
    const known = this.seen.get(agent) ?? new Set()
    for (const line of shown) known.add(line)
    this.seen.set(agent, known)
  }

  changedBy(agent: string | undefined): void {
    for (const one of this.clean) if (one !== agent) this.clean.delete(one)
  }

  unseen(agent: string): string[] {
    return this.lines.filter((line) => this.seen.get(agent)?.has(line) !== true)
  }

  /** Lines that the agent has seen. */
  known(agent: string): string[] {
    return this.lines.filter((line) => this.seen.get(agent)?.has(line) === true)
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.random(items.length)]
  }
}

/** What an edit of a line says, and what its tool makes of the lines. */
interface LineEdit {
  readonly old: string
  readonly text: string
  readonly make: (lines: readonly string[]) => string[]
  readonly written: readonly string[]
}

function editOf(model: Model, line: string): LineEdit {
  const made = [model.fresh(), model.fresh()]
  const put = (texts: readonly string[]) => (lines: readonly string[]) =>
    lines.flatMap((one) => (one === line ? texts : [one]))
  const [one, two] = made as [string, string]
  const forms: readonly LineEdit[] = [
    { old: `${line}\n`, text: `${one}\n`, make: put([one]), written: [one] },
    { old: line, text: one, make: put([one]), written: [one] },
    { old: `${line}\n`, text: `${line}\n${one}\n`, make: put([line, one]), written: [one] },
    { old: line, text: `${one}\n${two}`, make: put(made), written: made },
    // Liberties of tools.
    { old: line, text: '', make: put([]), written: [] },
    { old: `${line}\n`, text: `${one}  \n`, make: put([one]), written: [one] },
    { old: `  ${line}\n`, text: `  ${one}\n`, make: put([one]), written: [one] },
    { old: `${line}\n`, text: `${one} ${two}\n`, make: put(made), written: made }
  ]
  return model.pick(forms)!
}

const rounds = lengthOf({ full: 60, short: 12 })
const steps = 14

t.test('no line is dropped unseen, and no own edit is refused or told', { timeout: 300_000 }, async (t) => {
  const seed = givenSeed ?? 1
  const next = createRandom(seed)
  const random = (below: number) => Math.floor(next() * below)
  const { tree, url, hook } = await startHooks(t, { watcher: { enabled: false }, daemon: { log_level: 'silent' } })
  const counts = { replaced: 0, refused: 0, edits: 0, pairs: 0, behind: 0 }
  for (let round = 0; round < rounds; round += 1) {
    const story: string[] = []
    const fail = (what: string) => t.fail(`seed ${seed}, round ${round}: ${what}\n${story.join('\n')}`)
    const model = new Model(tree, random)
    model.next = round * 1000
    const [bob, dan] = [await connect(t, 'rest', url, `bob${round}`), await connect(t, 'rest', url, `dan${round}`)]
    model.write(Array.from({ length: 12 }, () => model.fresh()))
    await bob.call('async_read', { path: 'f' })
    const old = hashOf(tree.read('f'))
    const sessions = [claude(hook, tree.root, `anna${round}`), gemini(hook, tree.root, `carl${round}`)]
    const path = tree.path('f')
    let calls = 0

    const heard = (driver: Driver, answer: string) => {
      model.hear(driver.agentId, answer)
      if (answer.includes(`${driver.agentId} changed`)) fail(`told of its own change: ${answer}`)
      return answer
    }

    /** Edits are announced one after the other, then made, with their ends in any order. */
    const editLines = async (driver: Driver, count: number) => {
      const { agentId } = driver
      const targets = new Set(Array.from({ length: count }, () => model.pick(model.known(agentId))))
      const edits: { call: Edit; edit: LineEdit; isMade: boolean }[] = []
      for (const line of targets) {
        if (line === undefined) continue
        const edit = editOf(model, line)
        const call = { id: `u${(calls += 1)}`, path, old: edit.old, text: edit.text }
        story.push(`${agentId} edits ${JSON.stringify(edit.old)} to ${JSON.stringify(edit.text)}`)
        const refusal = await driver.before(call)
        heard(driver, refusal)
        if (refusal === '') edits.push({ call, edit, isMade: random(8) > 0 })
        // White space in front of a line that has none is no text of the file.
        else if (!edit.old.startsWith(' ')) fail(`an edit of a line that it has seen is refused: ${refusal}`)
      }
      for (const { edit, isMade } of edits) {
        if (!isMade) continue
        model.write(edit.make(model.lines))
        model.see(agentId, edit.written)
        model.changedBy(agentId)
      }
      const { lines } = model
      const announced = new Set<string | undefined>([...targets, ...edits.flatMap(({ edit }) => edit.written)])
      const isBeside = (_: string, at: number) => [at - 1, at, at + 1].some((one) => announced.has(lines[one]))
      const target = model.pick(lines.filter((line, at) => !isBeside(line, at)))
      const isFormatted = random(6) === 0 && target !== undefined && edits.some(({ isMade }) => isMade)
      if (isFormatted) {
        const line = model.fresh()
        story.push(`a formatter makes ${target} ${line}`)
        model.write(model.lines.map((one) => (one === target ? line : one)))
        model.changedBy(undefined)
        counts.behind += 1
      }
      for (const { call, isMade } of random(2) === 0 ? edits : edits.toReversed()) {
        story.push(`${agentId} ends ${JSON.stringify(call.old)}: ${isMade}`)
        heard(driver, await driver.after(call, isMade))
      }
      counts[count === 1 ? 'edits' : 'pairs'] += edits.length
    }

    const replaceAll = async (driver: Driver) => {
      const { agentId } = driver
      const lines = Array.from({ length: 12 }, () => model.fresh())
      const call = { id: `u${(calls += 1)}`, path, text: lines.map((line) => `${line}\n`).join('') }
      const lost = model.unseen(agentId)
      const refusal = await driver.before(call)
      story.push(`${agentId} replaces all: ${refusal}`)
      counts[refusal === '' ? 'replaced' : 'refused'] += 1
      heard(driver, refusal)
      if (refusal !== '') {
        if (model.clean.has(agentId)) fail('a session that has seen all is refused')
        return
      }
      if (lost.length > 0) fail(`it has not seen ${lost.join(', ')}`)
      const isMade = random(3) === 0
      if (isMade) {
        model.write(lines)
        model.see(agentId, lines)
        model.changedBy(agentId)
      }
      heard(driver, await driver.after(call, isMade))
    }

    const look = async (driver: Driver) => {
      const { lines } = model
      const first = random(lines.length)
      const count = random(2) === 0 ? lines.length : 1 + random(lines.length)
      const shown = count === lines.length ? lines : lines.slice(first, first + count)
      story.push(`${driver.agentId} reads ${shown.join(', ')}`)
      model.see(driver.agentId, shown)
      heard(driver, await driver.read(count === lines.length ? 1 : first + 1, shown, lines.length))
    }

    const grep = async (driver: Driver) => {
      const at = random(model.lines.length)
      story.push(`${driver.agentId} finds ${model.lines[at]}`)
      model.see(driver.agentId, model.lines.slice(at, at + 1))
      heard(driver, await driver.grep(at + 1, model.lines[at]!))
    }

    const update = async (client: TestClient) => {
      const lines = model.lines.flatMap((line, index) =>
        index > 0 && random(8) === 0 ? (random(2) === 0 ? [] : [line, model.fresh()]) : [line]
      )
      if (random(2) === 0) lines[random(lines.length)] = model.fresh()
      const content = lines.map((line) => `${line}\n`).join('')
      story.push(`bob makes ${lines.join(', ')}`)
      const answer = await client.call('async_update', { path: 'f', expected_hash: hashOf(tree.read('f')), content })
      if (answer['status'] !== 'ok') fail(JSON.stringify(answer))
      model.changedBy(`bob${round}`)
    }

    /** An agent that names no version. */
    const restore = async () => {
      const agent = `dan${round}`
      if (random(2) === 0) {
        const offset = random(model.lines.length)
        const limit = random(2) === 0 ? 1 + random(4) : model.lines.length
        const isWhole = limit === model.lines.length && random(2) === 0
        story.push(`dan reads ${isWhole ? 'all' : `${limit} from ${offset + 1}`}`)
        model.see(agent, isWhole ? model.lines : model.lines.slice(offset, offset + limit))
        await dan.call('async_read', { path: 'f', ...(!isWhole && { offset, limit }) })
        return
      }
      const lost = hashOf(tree.read('f')) === old ? [] : model.unseen(agent)
      const answer = await dan.call('async_restore', { path: 'f', hash: old, diff_format: 'unified' })
      story.push(`dan restores: ${JSON.stringify(answer)}`)
      if (answer['status'] === 'ok' && lost.length > 0) fail(`dan has not seen ${lost.join(', ')}`)
      if (answer['status'] === 'ok' && answer['changed'] === true) model.changedBy(undefined)
      model.hear(agent, String(answer['diff']?.content ?? ''))
    }

    for (let step = 0; step < steps; step += 1) {
      const driver = model.pick(sessions)!
      if (model.lines.length < 4) await update(bob)
      const kinds = [look, grep, replaceAll, (one: Driver) => editLines(one, 1), (one: Driver) => editLines(one, 2)]
      const kind = random(kinds.length + 2)
      await (kind < kinds.length ? kinds[kind]!(driver) : kind === kinds.length ? update(bob) : restore())
    }
  }
  t.comment(JSON.stringify(counts))
  for (const [what, count] of Object.entries(counts)) t.ok(count > rounds / 10, `${what}: ${count}`)
})
