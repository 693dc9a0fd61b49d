// Carries a random program out on a real tree through the real server, and holds every answer and the disk against the model.
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import type { Caller } from './caller.ts'
import {
  contentOf,
  external,
  isSame,
  linesOf,
  Model,
  type Entry,
  type Outcome,
  type Selection,
  type StepMade
} from './model.ts'
import { agents, exactPicks, names, type Chosen, type Part, type Program, type Step } from './steps.ts'
import { editsOf, isPlain, updateOf } from './forms.ts'
import type { Text } from './text.ts'

const observer = 'observer'
const variants = ['x', 'y', 'z', '']

export class World {
  readonly #model = new Model()
  readonly #root: string
  readonly #caller: Caller
  /** Of the names and agents of this program, so that it meets no other one in the history. */
  readonly #mark: string
  /** How often what was seen, over all programs. */
  readonly #counts: Record<string, number>
  readonly #calls: string[] = []
  readonly #replaced: { readonly path: string; readonly text: string }[] = []
  readonly #undos: string[] = []
  /** Texts that a path has had, the current one last. */
  readonly #texts = new Map<string, Text[]>()
  /** Changes from outside of which the server has seen each version before and after. */
  readonly #seen = new Map<string, Entry>()
  /** Contents that the server has seen. */
  readonly #known = new Set<string>()
  readonly #isExact = new Set<object>()
  #count = 0
  #isTimed = false
  #now = 0

  constructor(root: string, caller: Caller, number: number, counts: Record<string, number>) {
    this.#counts = counts
    this.#root = root
    this.#caller = caller
    this.#mark = `p${number}`
  }

  async run({ files, steps }: Program): Promise<void> {
    try {
      for (const { name, text } of files) {
        const path = this.#path(name)
        const lines = textOf(text)
        this.#model.tree.set(path, { kind: 'file', lines: lines.map((text) => ({ text, by: [null] })) })
        this.#put(path, lines.join(''))
        this.#remember(path)
      }
      this.#isTimed = steps.some((step) => step.do === 'undo' && ('since' in step.chosen || 'until' in step.chosen))
      for (const step of steps) {
        this.#count += 1
        this.#now = await this.#moment()
        await this.#take(step)
        this.#checkDisk()
      }
      await this.#checkAuthors()
      await this.#checkKept()
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n  ${this.#calls.join('\n  ')}`, {
        cause: error
      })
    } finally {
      for (const name of readdirSync(this.#root))
        if (name.startsWith(`${this.#mark}.`)) rmSync(join(this.#root, name), { recursive: true })
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'write':
        return this.#write(step)
      case 'update':
        return this.#update(step)
      case 'append':
        return this.#append(step)
      case 'rename':
        return this.#rename(step)
      case 'delete':
        return this.#delete(step)
      case 'restore':
        return this.#restore(step)
      case 'together':
        return this.#together(step)
      case 'permute':
        return this.#permute(step)
      case 'undo':
        return this.#undo(step)
      case 'outside':
        return this.#outside(step)
    }
  }

  async #write({ agent, set, name, text, form }: Step & { do: 'write' }): Promise<void> {
    const path = this.#pick(name, false)
    if (this.#isLink(path)) return
    const lines = textOf(text)
    if (form === 'native') return this.#native(path, lines)
    const outcome = this.#model.write(this.#agent(agent), path, lines)
    const content = lines.join('')
    const item = { path, content }
    if (form === 'PUT') {
      const reply = await this.#files('PUT', path, content, { 'If-None-Match': '*' }, agent, set)
      return this.#settle(reply, outcome, { agent, set })
    }
    if (form === 'call')
      return this.#settle(await this.#call('async_write', { ...item, ...this.#by(agent, set) }), outcome, {
        agent,
        set
      })
    const { results } = await this.#call('async_batch_write', { files: [item], ...this.#by(agent, set) })
    return this.#settle(results[0], outcome, { agent, set })
  }

  async #update({ agent, set, name, back, slots, isMerge, form }: Step & { do: 'update' }): Promise<void> {
    const path = this.#pick(name)
    if (this.#isLink(path)) return
    const expected = this.#version(path, back)
    if (expected === undefined) return
    const wanted = edited(expected, slots)
    if (form === 'native') return back === 0 && this.#model.at(path) ? this.#native(path, wanted) : undefined
    const edits = form === 'edit_file' && !path.includes('/') ? editsOf(expected, wanted) : undefined
    const outcome = this.#model.update(this.#agent(agent), path, { expected, wanted, isMerge })
    const expected_hash = hashOf(expected.join(''))
    const on_contention = isMerge ? 'merge' : 'report'
    const by = { agent, set }
    if (edits !== undefined && edits.length > 0) {
      const input = { name: path, edits, expected_hash, on_contention, agent_id: this.#agent(agent) }
      const answer = await this.#call('edit_file', input, set === undefined ? {} : { 'X-Change-Set': this.#set(set) })
      return this.#settle(fromEditing(answer), outcome, by)
    }
    const prefer: Record<string, string> = isMerge ? { Prefer: 'merge' } : {}
    const condition = { ...prefer, 'If-Match': `"${expected_hash}"` }
    if (form === 'PUT')
      return this.#settle(await this.#files('PUT', path, wanted.join(''), condition, agent, set), outcome, by)
    if (form === 'PATCH') {
      const change = updateOf('lines', expected, wanted)
      if ('patches' in change) {
        const headers = { ...condition, 'content-type': 'application/json' }
        return this.#settle(await this.#files('PATCH', path, JSON.stringify(change), headers, agent, set), outcome, by)
      }
    }
    const item = { path, expected_hash, on_contention, ...updateOf(form, expected, wanted) }
    if (form !== 'batch')
      return this.#settle(await this.#call('async_update', { ...item, ...this.#by(agent, set) }), outcome, by)
    const { results } = await this.#call('async_batch_update', { files: [item], ...this.#by(agent, set) })
    return this.#settle(results[0], outcome, by)
  }

  async #append({ agent, set, name, back, isMerge, isCreating, hasSeparator }: Step & { do: 'append' }): Promise<void> {
    const path = this.#pick(name)
    if (this.#isLink(path)) return
    const expected = back === undefined || this.#model.at(path) === undefined ? undefined : this.#version(path, back)
    const separator = hasSeparator ? `9.${this.#count}-\n` : ''
    const text = this.#addition()
    const outcome = this.#model.append(this.#agent(agent), path, { text, separator, isCreating, expected, isMerge })
    const input = {
      path,
      content: text,
      separator,
      create_if_missing: isCreating,
      on_contention: isMerge ? 'merge' : 'report',
      ...(expected && { expected_hash: hashOf(expected.join('')) })
    }
    this.#settle(await this.#call('async_append', { ...input, ...this.#by(agent, set) }), outcome, { agent, set })
  }

  async #rename({ agent, set, name, to, isOverwriting, back }: Step & { do: 'rename' }): Promise<void> {
    const [old_path, new_path] = [this.#pick(name), this.#path(to)]
    const expected = this.#expected(old_path, back)
    const outcome = this.#model.rename(old_path, new_path, isOverwriting, expected)
    const version = expected && { expected_hash: hashOf(expected.join('')) }
    const input = { old_path, new_path, overwrite: isOverwriting, ...version, ...this.#by(agent, set) }
    this.#settle(await this.#call('async_rename', input), outcome, { agent, set })
  }

  async #delete({ agent, set, name, back, form }: Step & { do: 'delete' }): Promise<void> {
    const path = this.#pick(name)
    const expected = this.#expected(path, back)
    const outcome = this.#model.remove(path, expected)
    const hash = expected && hashOf(expected.join(''))
    // A DELETE over HTTP goes where the link leads, as every address of a file does, or to the link: the documents do not say.
    if (form === 'DELETE' && !this.#isLink(path)) {
      const condition: Record<string, string> = hash === undefined ? {} : { 'If-Match': `"${hash}"` }
      return this.#settle(await this.#files('DELETE', path, '', condition, agent, set), outcome, { agent, set })
    }
    const input = { path, ...(hash && { expected_hash: hash }), ...this.#by(agent, set) }
    return this.#settle(await this.#call('async_delete', input), outcome, { agent, set })
  }

  async #restore({ agent, set, name, of, version, back }: Step & { do: 'restore' }): Promise<void> {
    const path = this.#path(name)
    const text = this.#replaced.filter(({ path }) => path === this.#path(of)).at(-1 - version)?.text
    if (text === undefined || this.#isLink(path)) return
    const expected = this.#expected(path, back)
    const outcome = this.#model.restore(this.#agent(agent), path, linesIn(text), expected)
    const expected_hash = expected === undefined ? null : hashOf(expected.join(''))
    const answer = await this.#call('async_restore', {
      path,
      hash: hashOf(text),
      expected_hash,
      ...this.#by(agent, set)
    })
    this.#settle(answer, outcome, { agent, set })
  }

  async #together({ agent, set, parts, isBatch, isAtomic }: Step & { do: 'together' }): Promise<void> {
    const taken = new Set<string>()
    const chosen = parts
      .map((part) => this.#part(part, this.#agent(agent)))
      .filter((part) => part !== undefined)
      .filter(
        ({ paths }) => paths.every((path) => !taken.has(path)) && paths.forEach((path) => taken.add(path)) === undefined
      )
    if (chosen.length === 0) return
    const kind = chosen[0]!.change.operation
    const isOfBatch = isBatch && (kind === 'write' || kind === 'update')
    const these = isOfBatch ? chosen.filter(({ change }) => change.operation === kind) : chosen
    const outcomes = these.map(({ outcome }) => outcome)
    const by = { agent, set }
    if (!isOfBatch) {
      const answer = await this.#call('async_transaction', {
        changes: these.map(({ change }) => change),
        ...this.#by(agent, set)
      })
      return this.#settle(answer, this.#model.together(outcomes), by)
    }
    const files = these.map(({ change }) => ({ ...change, operation: undefined }))
    const answer = await this.#call(`async_batch_${kind}`, { files, atomic: isAtomic, ...this.#by(agent, set) })
    const results = answer['results'] as Answer[]
    if (!isAtomic) return results.forEach((result, at) => this.#settle(result, outcomes[at]!, by))
    const whole = this.#model.together(outcomes)
    if (whole.is === 'made') return this.#settle({ ...results[0]!, hash: undefined, changed: undefined }, whole, by)
    for (const [at, result] of results.entries()) {
      const outcome = outcomes[at]!
      this.#settle(result, outcome.is === 'made' ? { is: 'refused', code: 'NOT_MADE' } : outcome, by)
    }
  }

  /** One change of a transaction, with its outcome alone. */
  #part(part: Part, agent: string) {
    const path = this.#pick(part.name, part.do !== 'write')
    const isLink = this.#isLink(path)
    switch (part.do) {
      case 'write': {
        if (isLink) return undefined
        const lines = textOf(part.text)
        return {
          paths: [path],
          change: { operation: 'write', path, content: lines.join('') },
          outcome: this.#model.write(agent, path, lines)
        }
      }
      case 'update': {
        const expected = this.#version(path, part.back)
        if (expected === undefined || isLink) return undefined
        const wanted = edited(expected, part.slots)
        const change = {
          operation: 'update',
          path,
          expected_hash: hashOf(expected.join('')),
          ...updateOf(part.form, expected, wanted)
        }
        return { paths: [path], change, outcome: this.#model.update(agent, path, { expected, wanted, isMerge: false }) }
      }
      case 'append': {
        if (isLink) return undefined
        const text = this.#addition()
        const addition = { text, separator: '', isCreating: false, expected: undefined, isMerge: false }
        return {
          paths: [path],
          change: { operation: 'append', path, content: text },
          outcome: this.#model.append(agent, path, addition)
        }
      }
      case 'delete':
        return { paths: [path], change: { operation: 'delete', path }, outcome: this.#model.remove(path) }
      case 'rename': {
        const to = this.#path(part.to)
        if (to === path) return undefined
        const change = { operation: 'rename', path, new_path: to, overwrite: part.isOverwriting }
        return { paths: [path, to], change, outcome: this.#model.rename(path, to, part.isOverwriting) }
      }
      default:
        return part satisfies never
    }
  }

  /** A chain of renames, or one that ends where it began. */
  async #permute({ agent, set, names, isCircle, isOverwriting }: Step & { do: 'permute' }): Promise<void> {
    const paths = names.map((name) => this.#path(name))
    const pairs = paths.map((path, at) => [path, paths[(at + 1) % paths.length]!] as const)
    const taken = isCircle ? pairs : pairs.slice(0, -1)
    const leaving = taken.map(([from]) => from)
    const changes = taken.map(([path, new_path]) => ({ operation: 'rename', path, new_path, overwrite: isOverwriting }))
    const outcome = this.#model.together(
      taken.map(([from, to]) => this.#model.rename(from, to, isOverwriting, undefined, leaving))
    )
    const answer = await this.#call('async_transaction', { changes, ...this.#by(agent, set) })
    this.#settle(answer, outcome, { agent, set })
  }

  /** As Claude Code does it: the session has read the file, announces, writes, and tells. */
  async #native(path: string, lines: Text): Promise<void> {
    const session = `${this.#mark}s`
    const agent = `claude-code/${session}`
    const absolute = join(this.#root, path)
    const content = lines.join('')
    const before = this.#model.at(path)
    const hook = async (name: string, fields: object) => {
      const event = {
        session_id: session,
        cwd: this.#root,
        hook_event_name: name,
        tool_use_id: `t${this.#count}`,
        ...fields
      }
      return this.#call('hooks/claude-code', event)
    }
    if (before !== undefined) await this.#call('async_read', { path, agent_id: agent })
    const tool = { tool_name: 'Write', tool_input: { file_path: absolute, content } }
    const refusalOf = (answer: Answer) => answer['hookSpecificOutput']?.permissionDecisionReason as unknown
    let refusal = refusalOf(await hook('PreToolUse', tool))
    // What others have removed since the session saw it is brought back by a second call.
    if (refusal !== undefined && before === undefined) refusal = refusalOf(await hook('PreToolUse', tool))
    this.#expect('the hook', refusal, undefined)
    this.#put(path, content)
    await hook('PostToolUse', { ...tool, tool_response: {} })
    const outcome =
      before === undefined ? this.#model.write(agent, path, lines) : this.#model.restore(agent, path, lines)
    this.#apply(outcome.is === 'made' ? outcome.steps : [], agent, undefined)
  }

  async #undo({ agent, set, chosen, isPartial, isTriedFirst }: Step & { do: 'undo' }): Promise<void> {
    const chooser = this.#choose(chosen)
    if (chooser === undefined) return
    const { input, selection } = chooser
    const call = { ...input, partial: isPartial, ...this.#by(agent, set) }
    const before = new Map(this.#model.tree)
    const tried = isTriedFirst ? await this.#call('async_undo', { ...call, dry_run: true }) : undefined
    if (tried !== undefined) this.#checkDisk()
    const expected = this.#model.undo(this.#agent(agent), selection)
    const answer = await this.#call('async_undo', call)
    const isDoubtful = selection.version !== undefined && !this.#isExactVersion(selection.version)
    if (isDoubtful && answer['error_code'] === 'VERSION_NOT_KEPT') return
    if (tried !== undefined)
      for (const key of ['status', 'undone']) this.#expect(`${key} of a dry run`, tried[key], answer[key])
    const steps = expected.is === 'known' ? expected.steps : []
    if (expected.is === 'known' && !isDoubtful) {
      const isRefused = expected.conflicts.length > 0 && !isPartial
      this.#expect('status of the undo', answer['status'], isRefused ? 'contention' : 'ok')
      const paths = (answer['conflicts'] as Answer[]).map(({ path }) => path as string)
      this.#expect('conflicts', [...new Set(paths)].sort(), [...expected.conflicts].sort())
      if (!isRefused) this.#apply(steps, this.#agent(agent), answer['change_set'])
    } else {
      const made = answer['status'] === 'ok' ? this.#difference() : []
      if (answer['status'] !== 'ok') this.#expect('status of the undo', answer['status'], 'contention')
      const owed = expected.is === 'open' ? expected.owed : []
      this.#apply(made, this.#agent(agent), answer['change_set'])
      const left = [...this.#model.tree.values()].flatMap(linesOf)
      for (const line of new Set(owed)) {
        const count = (lines: Text) => lines.filter((each) => each === line).length
        if (count(left) < count(owed))
          throw new Error(`the undo has taken ${JSON.stringify(line)}, which no chosen change has made`)
      }
    }
    this.#checkFiles(answer, before)
    this.#tell(`undo ${expected.is}, ${answer['status']}${answer['undone'] > 0 ? ', made' : ''}`)
    if (answer['change_set'] !== undefined) this.#undos.push(answer['change_set'] as string)
  }

  /** The answer of an undo names what has changed, and nothing else. */
  #checkFiles(answer: Answer, before: ReadonlyMap<string, Entry>): void {
    const files = (answer['files'] ?? []) as { path: string; new_path?: string; previous_hash: string; hash: string }[]
    const changed = names
      .map((_, name) => this.#path(name))
      .filter((path) => !isSame(before.get(path), this.#model.at(path)))
    // A file that was gone is named by the last name that it had, and by the one under which it comes back.
    const named = new Set(
      files.flatMap(({ path, new_path, previous_hash }) =>
        new_path === undefined
          ? [path]
          : previous_hash === null && !changed.includes(path)
            ? [new_path]
            : [path, new_path]
      )
    )
    this.#checkDisk()
    // Of two files with one content, one can have taken the place of the other.
    const isAlike = (path: string) => !changed.includes(path) && this.#wasMoved(path)
    const others = [...named].filter((path) => !isAlike(path))
    this.#expect('files that the undo names', others.sort(), changed.sort())
    this.#expect('whether anything is undone', (answer['undone'] ?? 0) > 0, named.size > 0)
    for (const { path, new_path = path, previous_hash, hash } of files) {
      this.#expect(`hash of ${new_path}`, hash, hashOfEntry(this.#model.at(new_path)))
      // An entry is about a file: one that comes back under a name that another one leaves was not there.
      const isLeft = files.some((other) => other.path === path && other.new_path !== undefined)
      if (previous_hash !== null || !isLeft)
        this.#expect(`previous_hash of ${path}`, previous_hash, hashOfEntry(before.get(path)))
    }
  }

  /** Names of agents and tasks that have changed something. */
  #ofChanges({ agent, set }: Chosen): (string | undefined)[] {
    const named = <Name>(names: readonly Name[], at: number | undefined) =>
      at === undefined ? undefined : [...new Set(names)].at(at % new Set(names).size)
    const { log } = this.#model
    const agents = log.map(({ agent }) => agent).filter((name) => name !== external)
    return [
      named(agents, agent),
      named(
        log.flatMap(({ set }) => (set === undefined ? [] : [set])),
        set
      )
    ]
  }

  #wasMoved(path: string): boolean {
    return this.#model.log.some(({ steps }) => steps.some((step) => step.moves?.includes(path)))
  }

  #choose(chosen: Chosen): { input: object; selection: Selection } | undefined {
    const { undoOf, all, since, until, paths, version } = chosen
    const { log } = this.#model
    const [agent, set] = this.#ofChanges(chosen)
    const first = log[0]
    if (all === true)
      return first && { input: { since: iso(first.at), by_agent: undefined, paths: this.#globs() }, selection: {} }
    if (version !== undefined) {
      const path = this.#path(version.name)
      const made = log.flatMap((change) =>
        change.steps.filter((step) => step.path === path && step.after?.kind === 'file')
      )
      const step = made.at(-1 - version.back)
      if (step === undefined) return undefined
      const text = contentOf(step.after)
      return { input: { versions: [{ path, hash: hashOf(text) }] }, selection: { version: { path, text } } }
    }
    if (undoOf !== undefined) {
      const name = this.#undos.at(-1 - undoOf)
      return name === undefined ? undefined : { input: { of_change_set: name }, selection: { set: name } }
    }
    const times = {
      since: since === undefined ? undefined : log.at(-1 - since)?.at,
      until: until === undefined ? undefined : log.at(-1 - until)?.at
    }
    const globs = paths?.map((name) => this.#path(name))
    const selection = {
      agent,
      set,
      ...times,
      paths: globs
    }
    if (Object.values(selection).every((value) => value === undefined)) return undefined
    const input = {
      by_agent: selection.agent,
      of_change_set: selection.set,
      since: times.since && iso(times.since),
      until: times.until && iso(times.until - 1),
      // Without a name of its own the selection would reach into other programs.
      paths: globs ?? (selection.agent === undefined && selection.set === undefined ? this.#globs() : undefined)
    }
    return { input, selection }
  }

  async #outside({ what, isSeen }: Step & { do: 'outside' }): Promise<void> {
    const path = this.#pick(what.name, what.do !== 'link')
    const before = this.#model.at(path)
    const absolute = join(this.#root, path)
    const change = { agent: external, set: undefined, at: this.#now }
    this.#calls.push(`outside: ${JSON.stringify({ ...what, path })}`)
    const touched = [path]
    switch (what.do) {
      case 'write': {
        if (before?.kind === 'link') return
        const line = `${what.slot + 1}o${this.#count}\n`
        const text = [...linesOf(before).filter((line) => slotOf(line) !== what.slot), line].sort(bySlot)
        if (!isPlain(text)) return
        this.#put(path, text.join(''))
        this.#model.apply({ ...change, steps: [this.#model.outside(path, text)] })
        break
      }
      case 'delete':
        if (before === undefined) return
        rmSync(absolute)
        this.#model.apply({ ...change, steps: [this.#model.outside(path, undefined)] })
        break
      case 'rename': {
        const to = this.#path(what.to)
        if (before === undefined || to === path) return
        mkdirSync(dirname(join(this.#root, to)), { recursive: true })
        renameSync(absolute, join(this.#root, to))
        touched.push(to)
        this.#model.apply({ ...change, steps: this.#model.movedOutside(path, to) })
        break
      }
      case 'link': {
        const target = this.#path(what.to)
        if (before !== undefined || target === path || this.#isLink(target) || path.includes('/')) return
        symlinkSync(target, absolute)
        this.#model.apply({ ...change, steps: [{ path, before, after: { kind: 'link', target } }] })
        break
      }
    }
    for (const each of touched) this.#remember(each)
    this.#checkDisk()
    if (!isSeen) return
    for (const each of touched) {
      await this.#call('async_read', { path: each, agent_id: observer })
      if (this.#wasSeen(each)) for (const step of this.#model.log.at(-1)?.steps ?? []) this.#isExact.add(step)
      this.#see(each, this.#model.at(each))
    }
  }

  /** Whether the server knew what was there before the last change. */
  #wasSeen(path: string): boolean {
    const step = this.#model.log.at(-1)?.steps.find((step) => step.path === path)
    return step?.before !== undefined && isSame(this.#seen.get(path), step.before)
  }

  /** Not one that outsiders made between two looks of the server. */
  #isExactVersion({ path, text }: { readonly path: string; readonly text: string }): boolean {
    return this.#model.log.every(
      ({ agent, steps }) =>
        agent !== external ||
        steps.every((step) => step.path !== path || contentOf(step.after) !== text || this.#isExact.has(step))
    )
  }

  #settle(
    answer: Answer,
    outcome: Outcome,
    { agent, set }: { readonly agent: number; readonly set: number | undefined }
  ): void {
    const status = outcome.is === 'made' ? 'ok' : outcome.is === 'late' ? 'contention' : 'error'
    this.#expect('status', answer['status'], status)
    if (outcome.is === 'refused' && outcome.code !== undefined) this.#expect('code', answer['error_code'], outcome.code)
    this.#tell(`change ${outcome.is}`)
    if (outcome.is !== 'made') return
    this.#expect('kept', answer['kept'], undefined)
    const [first] = outcome.steps
    const last = outcome.steps.at(-1)
    const changed = outcome.steps.some(({ before, after, moves }) => moves !== undefined || !isSame(before, after))
    if (answer['changed'] !== undefined) this.#expect('changed', answer['changed'], changed)
    // A link's version is that of what it leads to.
    if (answer['hash'] !== undefined && last?.after?.kind === 'file')
      this.#expect('hash', answer['hash'], hashOfEntry(last.after))
    if (answer['previous_hash'] !== undefined && first?.before?.kind !== 'link')
      this.#expect('previous_hash', answer['previous_hash'], hashOfEntry(first?.before))
    if (answer['deleted_hash'] !== undefined && first?.before?.kind === 'file')
      this.#expect('deleted_hash', answer['deleted_hash'], hashOfEntry(first.before))
    const name = answer['change_set'] ?? (set === undefined ? undefined : this.#set(set))
    this.#apply(outcome.steps, this.#agent(agent), name)
  }

  #apply(steps: readonly StepMade[], agent: string, set: string | undefined): void {
    const before = new Map(this.#model.tree)
    this.#model.apply({ agent, set, at: this.#now, steps })
    for (const { path, before } of steps) {
      this.#remember(path)
      this.#see(path, before)
      this.#see(path, this.#model.at(path))
    }
    const left = new Set([...this.#model.tree.values()].map(contentOf))
    for (const [path, entry] of before)
      if (entry?.kind === 'file' && !left.has(contentOf(entry))) this.#replaced.push({ path, text: contentOf(entry) })
  }

  /** What the disk has become beside what the model says. */
  #difference(): StepMade[] {
    const paths = names.map((_, name) => this.#path(name))
    const changed = paths
      .map((path) => ({ path, before: this.#model.at(path), after: this.#entryOnDisk(path) }))
      .filter(({ before, after }) => !isSame(before, after))
    const isMoving = changed.some(({ before, after }) => before?.kind !== 'file' || after?.kind !== 'file')
    return changed.map((step) => ({ ...step, moves: isMoving ? changed.map(({ path }) => path) : undefined }))
  }

  #entryOnDisk(path: string): Entry {
    const absolute = join(this.#root, path)
    const stat = lstatSync(absolute, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    if (stat.isSymbolicLink()) return { kind: 'link', target: readlinkSync(absolute) }
    return { kind: 'file', lines: linesIn(readFileSync(absolute, 'utf8')).map((text) => ({ text, by: undefined })) }
  }

  #checkDisk(): void {
    const found = readdirSync(this.#root, { withFileTypes: true, recursive: false })
      .filter(({ name }) => name !== '.async-crud-mcp')
      .flatMap((entry) =>
        entry.isDirectory()
          ? readdirSync(join(this.#root, entry.name)).map((name) => `${entry.name}/${name}`)
          : [entry.name]
      )
    this.#expect('names on disk', found.sort(), [...this.#model.tree.keys()].sort())
    for (const [path, entry] of this.#model.tree) {
      const there = this.#entryOnDisk(path)
      if (!isSame(there, entry)) this.#expect(`${path} on disk`, shown(there), shown(entry))
    }
  }

  async #checkAuthors(): Promise<void> {
    for (const [path, entry] of this.#model.tree) {
      if (entry?.kind !== 'file') continue
      const { ranges, total_lines } = await this.#call('async_blame', { path })
      this.#expect(`lines of ${path}`, total_lines, entry.lines.length)
      const by = (ranges as { start_line: number; end_line: number; agent_id: string | null }[]).flatMap(
        ({ start_line, end_line, agent_id }) => Array.from({ length: end_line - start_line + 1 }, () => agent_id)
      )
      for (const [at, line] of entry.lines.entries())
        if (line.by !== undefined && !line.by.includes(by[at]!))
          throw new Error(`${path}: line ${at + 1} is by ${by[at]}, and not by ${line.by.join(' or ')}`)
    }
  }

  /** The last of all, since it writes: everything that a change has replaced or removed can be had back. */
  async #checkKept(): Promise<void> {
    for (const path of this.#model.tree.keys()) rmSync(join(this.#root, path))
    const wanted = new Map(this.#replaced.map((each) => [`${each.path}\n${each.text}`, each]))
    for (const { path, text } of wanted.values()) {
      const hash = hashOf(text)
      const { versions } = await this.#call('async_history', { path, limit: 100 })
      const isKept = (versions as { hash: string; kept: boolean }[]).some((each) => each.hash === hash && each.kept)
      if (!isKept) throw new Error(`${path}: the history does not keep ${JSON.stringify(text)}`)
      const answer = await this.#call('async_restore', { path, hash, expected_hash: null })
      this.#expect('status of async_restore', answer['status'], 'ok')
      this.#expect(`${path} after async_restore`, shown(this.#entryOnDisk(path)), JSON.stringify(text))
    }
  }

  async #call(operation: string, input: object, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.#caller.post(operation, input, headers)
    this.#calls.push(`${operation} ${JSON.stringify(input)} -> ${brief(answer)}`)
    return answer
  }

  async #files(
    method: string,
    path: string,
    body: string,
    headers: Record<string, string>,
    agent: number,
    set: number | undefined
  ): Promise<Answer> {
    const own = { 'X-Agent-Id': this.#agent(agent), ...(set !== undefined && { 'X-Change-Set': this.#set(set) }) }
    const type = method === 'PUT' ? { 'content-type': 'application/octet-stream' } : {}
    const { answer } = await this.#caller.send(method, `/files/${path}`, body, { ...type, ...headers, ...own })
    this.#calls.push(
      `${method} ${path} ${JSON.stringify(body)} ${JSON.stringify({ ...headers, ...own })} -> ${brief(answer)}`
    )
    return answer
  }

  /** What the model knows of a path is told apart by its time only if no two changes share a millisecond. */
  async #moment(): Promise<number> {
    if (!this.#isTimed) return Date.now()
    const before = Date.now()
    while (Date.now() < before + 2) await new Promise((resolve) => setImmediate(resolve))
    return Date.now()
  }

  #see(path: string, entry: Entry): void {
    this.#seen.set(path, entry)
    if (entry?.kind === 'file') this.#known.add(contentOf(entry))
  }

  #put(path: string, content: string): void {
    mkdirSync(dirname(join(this.#root, path)), { recursive: true })
    writeFileSync(join(this.#root, path), content)
  }

  #remember(path: string): void {
    const entry = this.#model.at(path)
    if (entry?.kind === 'file') this.#texts.set(path, [...(this.#texts.get(path) ?? []), linesOf(entry)])
  }

  #version(path: string, back: number): Text | undefined {
    // The server cannot compare with what it has never seen.
    const texts = this.#texts
      .get(path)
      ?.filter((text, at, all) => at === all.length - 1 || this.#known.has(text.join('')))
    return texts?.at(Math.max(-1 - back, -texts.length))
  }

  /** A link has no version of its own. */
  #expected(path: string, back: number | undefined): Text | undefined {
    return back === undefined || this.#model.at(path)?.kind !== 'file' ? undefined : this.#version(path, back)
  }

  #expect(what: string, actual: unknown, wanted: unknown): void {
    if (isDeepStrictEqual(actual, wanted)) return
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
  }

  #tell(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }

  #addition(): string {
    return `9.${this.#count}\n`
  }

  #isLink(path: string): boolean {
    return this.#model.at(path)?.kind === 'link'
  }

  #globs(): string[] {
    return names.map((_, name) => this.#path(name))
  }

  #by(agent: number, set: number | undefined) {
    return { agent_id: this.#agent(agent), ...(set !== undefined && { change_set: this.#set(set) }) }
  }

  #agent(agent: number): string {
    return `${this.#mark}${agents[agent]}`
  }

  #set(set: number): string {
    return `${this.#mark}t${set}`
  }

  /** Most often one that is there, or for what is to be new one that is not. */
  #pick(pick: number, isThere = true): string {
    const all = names.map((_, name) => this.#path(name))
    const some = all.filter((path) => (this.#model.at(path) !== undefined) === isThere)
    return pick < exactPicks && some.length > 0 ? some[pick % some.length]! : all[pick % all.length]!
  }

  #path(name: number): string {
    return `${this.#mark}.${names[name]}`
  }
}

const iso = (at: number) => new Date(at).toISOString()
const hashOfEntry = (entry: Entry) => (entry?.kind === 'file' ? hashOf(contentOf(entry)) : null)
const shown = (entry: Entry) =>
  entry === undefined ? 'nothing' : entry.kind === 'link' ? `-> ${entry.target}` : JSON.stringify(contentOf(entry))
const linesIn = (text: string): Text => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** The last of the last place has no line end. */
const lineOf = (slot: number, variant: number) =>
  `${slot + 1}${variants[variant]}${slot === 7 && variant === 2 ? '' : '\n'}`
const slotOf = (line: string) => Number(line[0]) - 1
const bySlot = (one: string, other: string) => slotOf(one) - slotOf(other)

function textOf(text: readonly { readonly slot: number; readonly variant: number }[]): Text {
  return text.map(({ slot, variant }) => lineOf(slot, variant)).sort(bySlot)
}

function edited(base: Text, slots: readonly { readonly slot: number; readonly variant: number }[]): Text {
  let text = base
  for (const { slot, variant } of slots) {
    const others = text.filter((line) => slotOf(line) !== slot)
    text = variant === 3 ? others : [...others, lineOf(slot, variant)].sort(bySlot)
  }
  return text.slice(0, -1).every((line) => line.endsWith('\n')) ? text : base
}

/** edit_file answers in a form of its own, with the versions if one was expected. */
function fromEditing(answer: Answer): Answer {
  if (answer['success'] === true) return { status: 'ok', hash: answer['hash'], previous_hash: answer['previous_hash'] }
  const details = (answer['error'] as Answer | undefined)?.['data']?.details as string | undefined
  return details === undefined ? answer : { status: 'error', error_code: details.split(':')[0] }
}

function brief(answer: Answer): string {
  const { timestamp: _, diff: __, modified_by: ___, notices: ____, ...rest } = answer
  return JSON.stringify(rest)
    .replaceAll(/(sha256:[0-9a-f]{6})[0-9a-f]+/g, '$1')
    .slice(0, 600)
}
