// An undo of chosen changes: what it says and makes of the tree, against what the model allows.
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { contentOf, external, isSame, linesOf, type Entry, type Selection, type StepMade } from './model.ts'
import { names, type Chosen, type Step } from './steps.ts'
import type { Text } from './text.ts'
import { hashOfEntry } from './world.ts'
import type { World } from './world.ts'

const iso = (at: number) => new Date(at).toISOString()

export async function undo(
  world: World,
  { agent, set, chosen, isPartial, isTriedFirst }: Step & { do: 'undo' }
): Promise<void> {
  const chooser = choose(world, chosen)
  if (chooser === undefined) return
  const { input, selection } = chooser
  const call = { ...input, partial: isPartial, ...world.by(agent, set) }
  const before = new Map(world.model.tree)
  const tried = isTriedFirst ? await world.call('async_undo', { ...call, dry_run: true }) : undefined
  if (tried !== undefined) world.checkDisk()
  const expected = world.model.undo(world.agent(agent), selection, isPartial)
  const answer = await world.call('async_undo', call)
  const isDoubtful = selection.version !== undefined && !isExactVersion(world, selection.version)
  if (isDoubtful && answer['error_code'] === 'VERSION_NOT_KEPT') return
  if (tried !== undefined)
    for (const key of ['status', 'undone']) world.expect(`${key} of a dry run`, tried[key], answer[key])
  const steps = expected.is === 'known' ? expected.steps : []
  if (expected.is === 'known' && !isDoubtful) {
    const isRefused = expected.conflicts.length > 0 && !isPartial
    world.expect('status of the undo', answer['status'], isRefused ? 'contention' : 'ok')
    const paths = (answer['conflicts'] as Answer[]).map(({ path }) => path as string)
    world.expect('conflicts', [...new Set(paths)].sort(), [...expected.conflicts].sort())
    if (!isRefused) world.apply(steps, world.agent(agent), answer['change_set'])
  } else {
    const made = answer['status'] === 'ok' ? difference(world, answer, expected.chosen) : []
    if (answer['status'] !== 'ok') world.expect('status of the undo', answer['status'], 'contention')
    const owed = expected.is === 'open' ? expected.owed : []
    world.apply(made, world.agent(agent), answer['change_set'])
    const left = [...world.model.tree.values()].flatMap(linesOf)
    for (const line of new Set(owed)) {
      const count = (lines: Text) => lines.filter((each) => each === line).length
      if (count(left) < count(owed))
        throw new Error(`the undo has taken ${JSON.stringify(line)}, which no chosen change has made`)
    }
  }
  checkFiles(world, answer, before)
  world.tell(`undo ${expected.is}, ${answer['status']}${answer['undone'] > 0 ? ', made' : ''}`)
  if (answer['change_set'] !== undefined) world.undos.push(answer['change_set'] as string)
}

/** The answer of an undo names what has changed, and nothing else. */
function checkFiles(world: World, answer: Answer, before: ReadonlyMap<string, Entry>): void {
  const files = (answer['files'] ?? []) as { path: string; new_path?: string; previous_hash: string; hash: string }[]
  const changed = names
    .map((_, name) => world.path(name))
    .filter((path) => !isSame(before.get(path), world.model.at(path)))
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
  world.checkDisk()
  // Of two files with one content, one can have taken the place of the other.
  const isAlike = (path: string) => !changed.includes(path) && wasMoved(world, path)
  const others = [...named].filter((path) => !isAlike(path))
  world.expect('files that the undo names', others.sort(), changed.sort())
  world.expect('whether anything is undone', (answer['undone'] ?? 0) > 0, named.size > 0)
  for (const { path, new_path = path, previous_hash, hash } of files) {
    world.expect(`hash of ${new_path}`, hash, hashOfEntry(world.model.at(new_path)))
    // An entry is about a file: one that comes back under a name that another one leaves was not there.
    const isLeft = files.some((other) => other.path === path && other.new_path !== undefined)
    if (previous_hash !== null || !isLeft)
      world.expect(`previous_hash of ${path}`, previous_hash, hashOfEntry(before.get(path)))
  }
}

/** Names of agents and tasks that have changed something. */
function ofChanges(world: World, { agent, set }: Chosen): (string | undefined)[] {
  const named = <Name>(names: readonly Name[], at: number | undefined) =>
    at === undefined ? undefined : [...new Set(names)].at(at % new Set(names).size)
  const { log } = world.model
  const agents = log.map(({ agent }) => agent).filter((name) => name !== external)
  return [
    named(agents, agent),
    named(
      log.flatMap(({ set }) => (set === undefined ? [] : [set])),
      set
    )
  ]
}

function wasMoved(world: World, path: string): boolean {
  return world.model.log.some(({ steps }) => steps.some((step) => step.moves?.includes(path)))
}

function choose(world: World, chosen: Chosen): { input: object; selection: Selection } | undefined {
  const { undoOf, all, since, until, paths, version } = chosen
  const { log } = world.model
  const [agent, set] = ofChanges(world, chosen)
  const first = log[0]
  // By a time alone what outsiders have made is chosen, too; the model knows their changes only as the server has seen them.
  const hasOutsiders = log.some((change) => change.agent === external)
  if (all === true)
    return first === undefined || hasOutsiders
      ? undefined
      : { input: { since: iso(first.at), by_agent: undefined, paths: world.globs() }, selection: {} }
  if (version !== undefined) {
    const path = world.path(version.name)
    const made = log.flatMap((change) =>
      change.steps.filter((step) => step.path === path && step.after?.kind === 'file')
    )
    const step = made.at(-1 - version.back)
    if (step === undefined) return undefined
    const text = contentOf(step.after)
    return { input: { versions: [{ path, hash: hashOf(text) }] }, selection: { version: { path, text } } }
  }
  if (undoOf !== undefined) {
    const name = world.undos.at(-1 - undoOf)
    return name === undefined ? undefined : { input: { of_change_set: name }, selection: { set: name } }
  }
  const times = {
    since: since === undefined ? undefined : log.at(-1 - since)?.at,
    until: until === undefined ? undefined : log.at(-1 - until)?.at
  }
  const globs = paths?.map((name) => world.path(name))
  const selection = {
    agent,
    set,
    ...times,
    paths: globs
  }
  if (Object.values(selection).every((value) => value === undefined)) return undefined
  const isByTime = agent === undefined && set === undefined && (times.since ?? times.until) !== undefined
  if (isByTime && hasOutsiders) return undefined
  const input = {
    by_agent: selection.agent,
    of_change_set: selection.set,
    since: times.since && iso(times.since),
    until: times.until && iso(times.until - 1),
    // Without a name of its own the selection would reach into other programs.
    paths: globs ?? (selection.agent === undefined && selection.set === undefined ? world.globs() : undefined)
  }
  return { input, selection }
}

/** Not one that outsiders made between two looks of the server, nor one that looks like the version before it. */
function isExactVersion(world: World, { path, text }: { readonly path: string; readonly text: string }): boolean {
  return world.model.log.every(
    ({ agent, steps }) =>
      agent !== external ||
      !steps.some((step) => step.path === path && contentOf(step.after) === text) ||
      steps.every((step) => world.isExact.has(step) && !isSame(step.before, step.after))
  )
}

/** What the disk has become beside what the model says. Files that have changed places look like files that were edited. */
function difference(world: World, answer: Answer, chosen: ReadonlySet<StepMade>): StepMade[] {
  const files = answer['files'] as { path: string; new_path?: string }[]
  // A file can have been exchanged for another one with the same content, whose lines have other authors.
  const named = new Set(files.flatMap(({ path, new_path = path }) => [path, new_path]))
  const changed = names
    .map((_, name) => world.path(name))
    .map((path) => ({ path, before: world.model.at(path), after: world.entryOnDisk(path) }))
    .filter(({ path, before, after }) => !isSame(before, after) || named.has(path))
  const isMoving =
    changed.some(({ before, after }) => before?.kind !== 'file' || after?.kind !== 'file' || isSame(before, after)) ||
    files.some(({ new_path }) => new_path !== undefined)
  const moves = isMoving ? changed.map(({ path }) => path) : undefined
  return changed.map((step) => ({ ...step, moves, mayTakeBack: [...chosen] }))
}
