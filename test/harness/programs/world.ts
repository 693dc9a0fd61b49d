// Carries a random program out on a real tree through the real server, and holds every answer and the disk against the model.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import type { Caller } from './caller.ts'
import { contentOf, isSame, linesOf, Model, type Entry, type Outcome, type StepMade } from './model.ts'
import { agents, exactPicks, names } from './steps.ts'
import { linesIn } from './lines.ts'
import type { Text } from './text.ts'

export class World {
  readonly model = new Model()
  readonly root: string
  readonly caller: Caller
  /** Of the names and agents of this program, so that it meets no other one in the history. */
  readonly mark: string
  /** How often what was seen, over all programs. */
  readonly counts: Record<string, number>
  readonly calls: string[] = []
  readonly replaced: { readonly path: string; readonly text: string }[] = []
  readonly undos: string[] = []
  /** Texts that a path has had, the current one last. */
  readonly texts = new Map<string, Text[]>()
  /** Changes from outside of which the server has seen each version before and after. */
  readonly seen = new Map<string, Entry>()
  /** Contents that the server has seen. */
  readonly known = new Set<string>()
  readonly isExact = new Set<object>()
  count = 0
  isTimed = false
  now = 0

  constructor(root: string, caller: Caller, number: number, counts: Record<string, number>) {
    this.counts = counts
    this.root = root
    this.caller = caller
    this.mark = `p${number}`
  }

  settle(
    answer: Answer,
    outcome: Outcome,
    { agent, set }: { readonly agent: number; readonly set: number | undefined }
  ): void {
    const status = outcome.is === 'made' ? 'ok' : outcome.is === 'late' ? 'contention' : 'error'
    this.expect('status', answer['status'], status)
    if (outcome.is === 'refused' && outcome.code !== undefined) this.expect('code', answer['error_code'], outcome.code)
    this.tell(`change ${outcome.is}`)
    if (outcome.is !== 'made') return
    this.expect('kept', answer['kept'], undefined)
    const [first] = outcome.steps
    const last = outcome.steps.at(-1)
    const changed = outcome.steps.some(({ before, after, moves }) => moves !== undefined || !isSame(before, after))
    if (answer['changed'] !== undefined) this.expect('changed', answer['changed'], changed)
    // A link's version is that of what it leads to.
    if (answer['hash'] !== undefined && last?.after?.kind === 'file')
      this.expect('hash', answer['hash'], hashOfEntry(last.after))
    if (answer['previous_hash'] !== undefined && first?.before?.kind !== 'link')
      this.expect('previous_hash', answer['previous_hash'], hashOfEntry(first?.before))
    if (answer['deleted_hash'] !== undefined && first?.before?.kind === 'file')
      this.expect('deleted_hash', answer['deleted_hash'], hashOfEntry(first.before))
    const name = answer['change_set'] ?? (set === undefined ? undefined : this.set(set))
    this.apply(outcome.steps, this.agent(agent), name)
  }

  apply(steps: readonly StepMade[], agent: string, set: string | undefined): void {
    const before = new Map(this.model.tree)
    this.model.apply({ agent, set, at: this.now, steps })
    for (const { path, before } of steps) {
      this.remember(path)
      this.see(path, before)
      this.see(path, this.model.at(path))
    }
    const left = new Set([...this.model.tree.values()].map(contentOf))
    for (const [path, entry] of before)
      if (entry?.kind === 'file' && !left.has(contentOf(entry))) this.replaced.push({ path, text: contentOf(entry) })
  }

  entryOnDisk(path: string): Entry {
    const absolute = join(this.root, path)
    const stat = lstatSync(absolute, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    if (stat.isSymbolicLink()) return { kind: 'link', target: readlinkSync(absolute) }
    return { kind: 'file', lines: linesIn(readFileSync(absolute, 'utf8')).map((text) => ({ text, by: undefined })) }
  }

  checkDisk(): void {
    const found = readdirSync(this.root, { withFileTypes: true, recursive: false })
      .filter(({ name }) => name !== '.async-crud-mcp')
      .flatMap((entry) =>
        entry.isDirectory()
          ? readdirSync(join(this.root, entry.name)).map((name) => `${entry.name}/${name}`)
          : [entry.name]
      )
    this.expect('names on disk', found.sort(), [...this.model.tree.keys()].sort())
    for (const [path, entry] of this.model.tree) {
      const there = this.entryOnDisk(path)
      if (!isSame(there, entry)) this.expect(`${path} on disk`, shown(there), shown(entry))
    }
  }

  async call(operation: string, input: object, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.caller.post(operation, input, headers)
    this.calls.push(`${operation} ${JSON.stringify(input)} -> ${brief(answer)}`)
    return answer
  }

  async files(
    method: string,
    path: string,
    body: string,
    headers: Record<string, string>,
    agent: number,
    set: number | undefined
  ): Promise<Answer> {
    const own = { 'X-Agent-Id': this.agent(agent), ...(set !== undefined && { 'X-Change-Set': this.set(set) }) }
    const type = method === 'PUT' ? { 'content-type': 'application/octet-stream' } : {}
    const { answer } = await this.caller.send(method, `/files/${path}`, body, { ...type, ...headers, ...own })
    this.calls.push(
      `${method} ${path} ${JSON.stringify(body)} ${JSON.stringify({ ...headers, ...own })} -> ${brief(answer)}`
    )
    return answer
  }

  /** What the model knows of a path is told apart by its time only if no two changes share a millisecond. */
  async moment(): Promise<number> {
    if (!this.isTimed) return Date.now()
    const before = Date.now()
    while (Date.now() < before + 2) await new Promise((resolve) => setImmediate(resolve))
    return Date.now()
  }

  see(path: string, entry: Entry): void {
    this.seen.set(path, entry)
    if (entry?.kind === 'file') this.known.add(contentOf(entry))
  }

  put(path: string, content: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    writeFileSync(join(this.root, path), content)
  }

  remember(path: string): void {
    const entry = this.model.at(path)
    if (entry?.kind === 'file') this.texts.set(path, [...(this.texts.get(path) ?? []), linesOf(entry)])
  }

  version(path: string, back: number): Text | undefined {
    // The server cannot compare with what it has never seen.
    const texts = this.texts
      .get(path)
      ?.filter((text, at, all) => at === all.length - 1 || this.known.has(text.join('')))
    return texts?.at(Math.max(-1 - back, -texts.length))
  }

  /** A link has no version of its own. */
  expected(path: string, back: number | undefined): Text | undefined {
    return back === undefined || this.model.at(path)?.kind !== 'file' ? undefined : this.version(path, back)
  }

  expect(what: string, actual: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(actual, wanted)) return
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
  }

  tell(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  addition(): string {
    return `9.${this.count}\n`
  }

  wasLink(path: string): boolean {
    const isLinkAt = (step: StepMade) => step.path === path && step.after?.kind === 'link'
    return this.isLink(path) || this.model.log.some(({ steps }) => steps.some(isLinkAt))
  }

  isLink(path: string): boolean {
    return this.model.at(path)?.kind === 'link'
  }

  globs(): string[] {
    return names.map((_, name) => this.path(name))
  }

  by(agent: number, set: number | undefined) {
    return { agent_id: this.agent(agent), ...(set !== undefined && { change_set: this.set(set) }) }
  }

  agent(agent: number): string {
    return `${this.mark}${agents[agent]}`
  }

  set(set: number): string {
    return `${this.mark}t${set}`
  }

  /** Most often one that is there, or for what is to be new one that is not. */
  pick(pick: number, isThere = true): string {
    const all = names.map((_, name) => this.path(name))
    const some = all.filter((path) => (this.model.at(path) !== undefined) === isThere)
    return pick < exactPicks && some.length > 0 ? some[pick % some.length]! : all[pick % all.length]!
  }

  path(name: number): string {
    return `${this.mark}.${names[name]}`
  }
}

export const hashOfEntry = (entry: Entry) => (entry?.kind === 'file' ? hashOf(contentOf(entry)) : null)
export const shown = (entry: Entry) =>
  entry === undefined ? 'nothing' : entry.kind === 'link' ? `-> ${entry.target}` : JSON.stringify(contentOf(entry))

function brief(answer: Answer): string {
  const { timestamp: _, diff: __, modified_by: ___, notices: ____, ...rest } = answer
  return JSON.stringify(rest)
    .replaceAll(/(sha256:[0-9a-f]{6})[0-9a-f]+/g, '$1')
    .slice(0, 600)
}
