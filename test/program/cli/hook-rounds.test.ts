// Rounds of harnesses, an agent of the server and a person who change the same files at the same time, by the real hook program.
import { existsSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { applyPatch } from 'diff'
import t from 'tap'
import { connect, type TestClient } from '../../fixtures/clients.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { patient, runHook } from '../../fixtures/run-hook.ts'
import { startProgram } from '../../fixtures/server.ts'
import { hashOf, makeTree, shortHashOf, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const environment = { ASYNC_CRUD_MCP_LOCKS__NATIVE_EDIT_SECONDS: '60' }

async function serve(t: Parameters<typeof startProgram>[0], tree: Tree) {
  const program = await startProgram(t, ['--dir', tree.root], environment)
  await until(() => existsSync(tree.path('.async-crud-mcp/.mcp_server_state.json')))
  return program
}

/** What happened to the shared file, in order: printed when a line is lost. */
type Story = string[]

const linesOf = (text: string) => text.trimEnd().split('\n').join(' | ')

/** A harness with a tool that replaces whole files, and one that replaces a line: what it does by itself loses updates. */
class Session {
  readonly refusals: string[] = []
  readonly #story: Story
  #knows = ''
  #calls = 0
  readonly tree: Tree
  readonly name: string
  readonly harness: string
  readonly isHooked: boolean

  constructor(tree: Tree, name: string, harness: string, isHooked: boolean, story: Story) {
    this.#story = story
    this.tree = tree
    this.name = name
    this.harness = harness
    this.isHooked = isHooked
  }

  async #hook(
    event: 'before' | 'after',
    tool: 'read' | 'write' | 'edit',
    input: object,
    content?: string
  ): Promise<string> {
    // Without hooks the model thinks as long.
    if (!this.isHooked) {
      for (let turns = 0; turns < 20; turns += 1) await turn()
      return ''
    }
    const isClaude = this.harness === 'claude-code'
    const tool_name = { read: ['Read', 'read_file'], write: ['Write', 'write_file'], edit: ['Edit', 'replace'] }[tool][
      isClaude ? 0 : 1
    ]
    const hook_event_name = { before: ['PreToolUse', 'BeforeTool'], after: ['PostToolUse', 'AfterTool'] }[event][
      isClaude ? 0 : 1
    ]
    const file = { content: content?.replace(/\n$/, ''), startLine: 1, totalLines: content?.split('\n').length }
    const tool_response = content === undefined ? {} : isClaude ? { type: 'text', file } : { llmContent: content }
    const common = { session_id: this.name, cwd: this.tree.root, tool_use_id: `u${this.#calls}` }
    this.#tell(`asks ${event} ${tool}`)
    const outcome = await runHook(
      this.harness,
      { ...common, hook_event_name, tool_name, tool_input: input, ...(event === 'after' && { tool_response }) },
      ['--wait', '10', ...patient]
    )
    if (outcome.stderr !== '') throw new Error(outcome.stderr)
    this.#tell(`hears ${event} ${tool}: ${outcome.stdout.slice(0, 100)}`)
    const answer = JSON.parse(outcome.stdout === '' ? '{}' : outcome.stdout) as {
      reason?: string
      hookSpecificOutput?: { permissionDecisionReason?: string }
    }
    return answer.hookSpecificOutput?.permissionDecisionReason ?? answer.reason ?? ''
  }

  #tell(what: string): void {
    this.#story.push(`${performance.now().toFixed(0)} ${this.name} ${what}`)
  }

  async #read(file: string): Promise<void> {
    this.#knows = this.tree.read(file)
    this.#tell(`reads ${file}: ${linesOf(this.#knows)}`)
    await this.#hook('after', 'read', { file_path: this.tree.path(file) }, this.#knows)
  }

  /** Adds a line to what it knows of a file, until it is allowed to. */
  async addLine(file: string, line: string): Promise<void> {
    const file_path = this.tree.path(file)
    await this.#read(file)
    for (;;) {
      this.#calls += 1
      const content = `${this.#knows}${line}\n`
      const refusal = await this.#hook('before', 'write', { file_path, content })
      if (refusal === '') {
        this.tree.write(file, content)
        this.#tell(`writes ${linesOf(content)}`)
        await this.#hook('after', 'write', { file_path, content })
        this.#knows = content
        return
      }
      this.refusals.push(refusal)
      this.#tell(`is refused: ${refusal}`)
      const diff = /current one:\n([^]*)\nAdjust/.exec(refusal)?.[1]
      const patched = diff === undefined ? false : applyPatch(this.#knows, diff)
      if (diff !== undefined && patched === false) throw new Error(`not the right difference: ${refusal}`)
      // By the difference alone, as a model would.
      if (patched === false) await this.#read(file)
      else this.#knows = patched
    }
  }

  /** Replaces its own line, which no other writer touches, as an edit tool does: in the file as it is then. */
  async replaceLine(file: string, from: string, to: string): Promise<void> {
    const input = { file_path: this.tree.path(file), old_string: from, new_string: to }
    this.#calls += 1
    const refusal = await this.#hook('before', 'edit', input)
    if (refusal !== '') return this.#read(file).then(() => this.replaceLine(file, from, to))
    this.tree.write(file, this.tree.read(file).replace(from, to))
    await this.#hook('after', 'edit', input)
  }
}

async function addByServer(agent: TestClient, path: string, line: string, story: Story): Promise<void> {
  let { hash: expected_hash, content } = await agent.call('async_read', { path })
  for (;;) {
    const answer = await agent.call('async_update', { path, expected_hash, content: `${content}${line}\n` })
    if (answer['status'] === 'ok')
      return void story.push(`${performance.now().toFixed(0)} agent wrote ${linesOf(`${content}${line}`)}`)
    if (answer['status'] !== 'contention') throw new Error(JSON.stringify(answer))
    ;({ hash: expected_hash, content } = await agent.call('async_read', { path }))
  }
}

/** A session that reads, and is told of each change that follows, once. @returns how often it was told */
async function readAndListen(tree: Tree, observer: TestClient, isOver: () => boolean, story: Story): Promise<number> {
  const path = tree.path('shared.txt')
  /** Newest first. */
  const recorded = async () =>
    ((await observer.call('async_history', { path, limit: 50 }))['versions'] as { hash: string }[]).map(
      ({ hash }) => hash
    )
  const ask = async (event: object) => {
    const { stdout, stderr } = await runHook('claude-code', { session_id: 'rita', cwd: tree.root, ...event }, patient)
    if (stderr !== '') throw new Error(stderr)
    story.push(`${performance.now().toFixed(0)} rita hears ${stdout}`)
    return /changed \S*shared\.txt since/.test(stdout)
  }
  const prompt = () => ask({ hook_event_name: 'UserPromptSubmit', prompt: 'go on' })
  for (let told = 0; ; told += 1) {
    let content = ''
    await until(() => (content = tree.read('shared.txt')) !== '')
    story.push(`${performance.now().toFixed(0)} rita reads ${linesOf(content)}`)
    const file = { content: content.replace(/\n$/, ''), startLine: 1, totalLines: content.split('\n').length }
    const read = { hook_event_name: 'PostToolUse', tool_name: 'Read', tool_input: { file_path: path } }
    const isToldAtOnce = await ask({ ...read, tool_response: { type: 'text', file } })
    const known = isToldAtOnce ? (await recorded())[0] : hashOf(content)
    /** What it has read may be recorded later. */
    const hasNews = async () => (await recorded()).indexOf(known ?? '') > 0
    await until(async () => isOver() || (await hasNews()))
    const wasOver = isOver()
    const isNews = await hasNews()
    const [before] = await recorded()
    const isTold = await prompt()
    if (isNews && !isTold) throw new Error('a reader was not told')
    const isTwice = await prompt()
    if (isTold && isTwice && before === (await recorded())[0]) throw new Error('a reader was told twice')
    if (wasOver && !isNews) {
      if (isTold) throw new Error('a reader was told of nothing')
      return told
    }
  }
}

const seats = ['anna', 'carl']
const seatLines = (round: number) => seats.map((name) => `${name}: ${round}`)
const gap = Array.from({ length: 10 }, (_, index) => `- ${index}`).join('\n')

/** Two sessions, an agent of the server and a person with an editor. @returns the lines that are missing in the end */
async function work(tree: Tree, rounds: number, url?: string, agent?: TestClient, observer?: TestClient) {
  const story: Story = []
  const sessions = [
    new Session(tree, 'anna', 'claude-code', url !== undefined, story),
    new Session(tree, 'carl', 'gemini', url !== undefined, story)
  ]
  const [first, second] = seatLines(0)
  tree.write('shared.txt', 'start\n')
  tree.write('notes.txt', `${first}\n${gap}\n${second}\n${gap}\nperson:\n`)
  const ownLines: string[] = []
  const add = (line: string) => {
    ownLines.push(line)
    return line
  }
  const person = async () => {
    for (let round = 1; round <= rounds; round += 1) {
      await turn()
      tree.write('notes.txt', `${tree.read('notes.txt')}person ${round}\n`)
      await turn()
    }
  }
  const bySessions = sessions.map(async (session, seat) => {
    for (let round = 1; round <= rounds; round += 1) {
      await session.addLine('shared.txt', add(`${session.name} ${round}`))
      await session.replaceLine('notes.txt', `${seatLines(round - 1)[seat]}\n`, `${seatLines(round)[seat]}\n`)
    }
  })
  const byAgent = async () => {
    if (agent === undefined) return
    for (let round = 1; round <= rounds; round += 1)
      await addByServer(agent, 'shared.txt', add(`agent ${round}`), story)
  }
  let isOver = false
  const listening =
    observer === undefined ? 0 : readAndListen(tree, observer, () => isOver, story).catch((error: Error) => error)
  await Promise.all([...bySessions, byAgent(), person()])
  isOver = true
  const told = await listening
  const there = new Set(tree.read('shared.txt').split('\n'))
  const notes = tree.read('notes.txt').split('\n')
  const byPerson = Array.from({ length: rounds }, (_, index) => `person ${index + 1}`)
  const missing = [
    ...ownLines.filter((line) => !there.has(line)),
    ...[...seatLines(rounds), ...byPerson].filter((line) => !notes.includes(line))
  ]
  const doubled = tree.read('shared.txt').split('\n').length - 2 - ownLines.length
  return { missing, doubled, told, story, refusals: sessions.flatMap((session) => session.refusals) }
}

t.test(
  'two sessions, an agent of the server and a person lose no update with hooks, and many without',
  { timeout: 3_600_000 },
  async (t) => {
    const rounds = lengthOf({ long: 500, full: 12, short: 3 })
    const plain = makeTree(t)
    const control = await work(plain, Math.max(rounds, 50))
    t.ok(control.missing.length > 10, `${control.missing.length} lost without hooks`)
    const tree = makeTree(t)
    const { url } = await serve(t, tree)
    const agent = await connect(t, 'mcp-2026', url, 'agent')
    const observer = await connect(t, 'rest', url)
    const { missing, doubled, told, refusals, story } = await work(tree, rounds, url, agent, observer)
    t.same(missing, [])
    t.equal(doubled, 0)
    t.type(told, 'number', 'each reader is told once')
    if (missing.length > 0 || doubled !== 0 || told instanceof Error) for (const line of story) t.comment(line)
    t.comment(`${refusals.length} refusals and ${String(told)} notices in ${rounds} rounds`)
    const { versions } = await agent.call('async_history', { path: 'shared.txt', limit: 50 })
    t.same(
      [...new Set((versions as { agent_id: string | null }[]).map((version) => version.agent_id))].filter(
        (name) => name === 'external'
      ),
      [],
      'each version has its author'
    )
    t.equal((await agent.call('async_status', { path: 'shared.txt' }))['hash'], shortHashOf(tree.bytes('shared.txt')))
  }
)
