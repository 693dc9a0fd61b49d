// Everything of a landing up to the commit: what it takes, and what the commit says.
import { basename } from 'node:path'
import { someOf } from '../../support/cut-text.ts'
import { showName } from '../../support/raw-name.ts'
import type { LandDependence, LandInput, LandPrepareOutput, LandRemarks } from '../../../schemas/land.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { compileBelowRoots } from '../../engine/files/glob/below-roots.ts'
import { lockKey } from '../../engine/files/lock-key.ts'
import { lookAgain } from '../../engine/watcher/look-again.ts'
import { OperationError } from '../../errors.ts'
import type { CommitFile } from '../../support/project/stage-files.ts'
import { isRefusedName } from '../../support/project/refused-names.ts'
import { nameIn, type WorkTree } from '../../support/project/work-tree.ts'
import { awaitCommands } from '../commands/bracket.ts'
import { commitMessage } from './commit-message.ts'
import type { FileDependence, LandedFile } from './compose-file.ts'
import { linesOf } from './file-lines.ts'
import { makersOf, namesOf, type FileLog } from './file-log.ts'
import { forgottenIn } from './forgotten-lines.ts'
import { isUnknown, mayBeOf, type Maker } from './maker.ts'
import type { Hunk } from './logged-line.ts'
import { findInTheWay, planLanding, type InTheWay, type Landing } from './plan-landing.ts'
import { readLogs, type Given, type LogOptions, type TreeLog } from './read-logs.ts'
import { openForLanding } from './refuse-repository.ts'
import { settleLanding } from './finish.ts'

export type Selected = Pick<
  LandInput,
  'agent' | 'of_change_set' | 'paths' | 'with' | 'include_uncertain' | 'include_overwritten' | 'message'
>

export interface Prepared {
  readonly tree: WorkTree & { readonly commit: string }
  readonly landing: Landing
  readonly files: readonly CommitFile[]
  readonly remarks: LandRemarks
  /** Names of files with changes of unknown authors. */
  readonly unknown: string[]
  /** Who has uncommitted changes; empty if there are files to land. */
  readonly agents: readonly string[]
  readonly message: string
  /** Whether the index of the user is known to have every `.gitattributes` as HEAD has it. */
  readonly hasAttributesOfHead: boolean
}

type OpenTree = Prepared['tree']

/**
 * @param given what HEAD has at names that a filter applies to
 * @throws OperationError INVALID_REQUEST that says what is in the way
 */
export async function prepareLanding(
  context: OperationContext,
  tree: OpenTree,
  input: Selected,
  given: Given = new Map()
): Promise<Prepared> {
  const { logs, inTheWay, staged, unknown, outOfReach } = await readFitting(context, tree, input.paths, {
    given,
    asMadeBy: input.include_overwritten ? [input.agent, ...(input.with ?? [])] : undefined
  })
  const selection = {
    agent: input.agent,
    changeSet: input.of_change_set,
    others: input.with ?? [],
    includesUncertain: input.include_uncertain,
    includesOverwritten: input.include_overwritten
  }
  const landing = planLanding(logs, selection, inTheWay)
  const nameOf = (path: string) => nameIn(tree, path)
  const files = landing.files
    .map((file) => toCommitFile(file, nameOf(file.path)))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  if (landing.dependences.length === 0)
    refuseStaged(landing.files.flatMap(({ path }) => (staged.has(path) ? nameOf(path) : [])))
  return {
    tree,
    landing,
    files,
    remarks: {
      dependent: toDependent(landing.dependences, nameOf),
      taken_along: landing.takenAlong.filter((changeSet) => changeSet !== undefined),
      uncertain: input.include_uncertain ? [] : uncertainIn(logs, input.agent).map(nameOf),
      forgotten: input.include_uncertain ? [] : forgottenIn(logs, nameOf, input.agent),
      ...outOfReach
    },
    unknown,
    agents: files.length > 0 ? [] : [...agentsOf(logs)],
    message: commitMessage({
      selection: input,
      landing,
      files,
      notes: notesOf(context, landing),
      coAuthor: context.config.land.co_author
    }),
    // What is staged is known below the roots.
    hasAttributesOfHead:
      context.files.roots.some(({ real }) => real === tree.workTree) &&
      ![...staged].some((path) => basename(path) === '.gitattributes')
  }
}

type Share = LandPrepareOutput['plan'][number]

/** What each agent alone would land, in an order in which all could. */
export async function planAll(
  context: OperationContext,
  tree: OpenTree,
  { paths }: Pick<Selected, 'paths'>,
  given: Given
) {
  const { logs, inTheWay, unknown, outOfReach } = await readFitting(context, tree, paths, { given })
  const nameOf = (path: string) => nameIn(tree, path)
  const shares = new Map<string, Share>()
  for (const agent of agentsOf(logs)) {
    const selection = { agent, others: [], includesUncertain: false, includesOverwritten: false }
    const landing = planLanding(logs, selection, inTheWay)
    if (landing.files.length === 0) continue
    shares.set(agent, {
      agent_id: agent,
      paths: landing.files.map(({ path }) => nameOf(path)).sort(),
      ...countLines(logs, agent),
      dependent: toDependent(landing.dependences, nameOf)
    })
  }
  return {
    plan: inOrder(shares),
    remarks: {
      dependent: [],
      taken_along: [],
      uncertain: uncertainIn(logs).map(nameOf),
      forgotten: forgottenIn(logs, nameOf),
      ...outOfReach
    },
    unknown
  }
}

const showEscaped = (name: string) => showName(name).name

function agentsOf(logs: readonly FileLog[]): Set<string> {
  return new Set(logs.flatMap(makersOf).flatMap(({ agentId, isCertain }) => (isCertain ? agentId : [])))
}

/** Files in which the agent, or without one any, may have made what is not taken. */
function uncertainIn(logs: readonly FileLog[], agent?: string): string[] {
  const isAsked = (maker: Maker) =>
    agent === undefined ? !isUnknown(maker) && maker.isForgotten !== true : mayBeOf(maker, agent)
  const mayBeOwn = (log: FileLog) => makersOf(log).some((maker) => !maker.isCertain && isAsked(maker))
  return logs.flatMap((log) => (mayBeOwn(log) ? ((log.now ?? log.head)?.path ?? []) : []))
}

function unknownIn(logs: readonly FileLog[], nameOf: (path: string) => string): string[] {
  const changed = logs.filter((log) => makersOf(log).some(isUnknown))
  return changed.flatMap(({ now, head }) => (now ?? head)?.path ?? []).map(nameOf)
}

function countLines(logs: readonly FileLog[], agent: string): { added: number; removed: number } {
  const isOf = ({ isCertain, agentId }: Maker) => isCertain && agentId === agent
  const isOwn = (hunk: Hunk<Maker> | undefined) => hunk !== undefined && isOf(hunk.change)
  const lines = logs.flatMap((log) => log.lines?.lines ?? [])
  const gone = logs.flatMap(({ head, now, remover }) => (now === undefined && isOf(remover) ? (head ?? []) : []))
  return {
    added: lines.filter(({ made, removed }) => isOwn(made) && removed === undefined).length,
    removed:
      lines.filter(({ made, removed }) => made === undefined && isOwn(removed)).length +
      gone.flatMap(({ bytes }) => linesOf(bytes) ?? []).length
  }
}

/** Those on whom others rest come first; what rests on each other comes last. */
function inOrder(shares: ReadonlyMap<string, Share>): Share[] {
  const ordered: Share[] = []
  const left = new Map(shares)
  for (;;) {
    const next = [...left.values()].find(({ dependent }) => dependent.every(({ agent_id }) => !left.has(agent_id)))
    if (next === undefined) return [...ordered, ...left.values()]
    ordered.push(next)
    left.delete(next.agent_id)
  }
}

interface Fitting extends Pick<TreeLog, 'logs' | 'staged'>, Pick<Prepared, 'unknown'> {
  readonly inTheWay: InTheWay
  readonly outOfReach: Pick<LandRemarks, 'left_out' | 'refused' | 'unreachable'>
}

async function readFitting(
  context: OperationContext,
  tree: OpenTree,
  paths: readonly string[] | undefined,
  options: LogOptions
): Promise<Fitting> {
  await awaitCommands(context)
  await lookAgain(context, context.config.watcher.bulk_files, context.signal)
  const { logs: all, replaced, filtered, filteredGone, staged, unreachable } = await readLogs(context, tree, options)
  const fits = toFilter(context, paths)
  const nameOf = (path: string) => nameIn(tree, path)
  const fitting = all.filter((log) => namesOf(log).some(fits))
  const isRefused = ({ head, now, before }: FileLog) =>
    [head ?? before?.now, now].some((one) => one !== undefined && isRefusedName(nameOf(one.path), one.isLink))
  const refused = [...new Set(fitting.filter(isRefused).flatMap(namesOf))].map(nameOf)
  const logs = fitting.filter((log) => !isRefused(log))
  return {
    logs,
    inTheWay: findInTheWay([...all, ...replaced, ...filteredGone]),
    staged,
    unknown: unknownIn(logs, nameOf),
    outOfReach: {
      left_out: [...filtered.map(nameOf), ...refused],
      refused,
      unreachable: unreachable.filter(fits).map(nameOf).map(showEscaped)
    }
  }
}

/**
 * Once a landing that was cut off has been ended.
 * @throws OperationError INVALID_REQUEST that says what is in the way
 */
export async function openSettled(context: OperationContext): Promise<OpenTree> {
  const [root] = context.files.roots
  if (root === undefined) throw new OperationError('INVALID_REQUEST', 'This server serves no folder.')
  const tree = await openForLanding(root.real, context.signal)
  return (await settleLanding(context, tree)) ? openForLanding(root.real, context.signal) : tree
}

function toFilter({ files }: OperationContext, paths: readonly string[] | undefined): (path: string) => boolean {
  return paths === undefined ? () => true : compileBelowRoots(paths, files.roots)
}

function toCommitFile({ mode, content }: LandedFile, name: string): CommitFile {
  return { name, mode, bytes: content?.bytes }
}

/** Several changes that rest on the same lines of the same agent are named once. */
function toDependent(dependences: readonly FileDependence[], nameOf: (path: string) => string): LandDependence[] {
  const found = dependences.map(({ path, lines, on }) => ({
    path: nameOf(path),
    ...(lines !== undefined && { start_line: lines.start, end_line: lines.end }),
    agent_id: on.agentId
  }))
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()]
}

/**
 * Of leases that those whose changes are landed hold on these files; without one, of leases that have ended, and under which a change that
 * is landed was made.
 */
function notesOf({ locks, activity }: OperationContext, { files, agents, makers }: Landing): string[] {
  const keys = new Set(files.map(({ path }) => lockKey(path)))
  const held = [...locks.leases.all()].filter(({ key, agentId }) => keys.has(key) && agents.includes(agentId))
  const notes = held.flatMap(({ note = '' }) => (note === '' ? [] : note))
  if (notes.length > 0) return notes
  const ended = activity.stays.ended().filter(({ path, mode }) => mode !== undefined && keys.has(lockKey(path)))
  return ended.flatMap(({ note = '', agentId, from, to }) => {
    const isOf = (maker: Maker) =>
      maker.agentId === agentId && maker.at !== undefined && from <= maker.at && maker.at <= to
    return note !== '' && makers.some(isOf) ? note : []
  })
}

/** In a message. */
const maxNamed = 5

/** What the user has staged of a path is not in the tree as it is, and a landing would lose it. */
function refuseStaged(staged: readonly string[]): void {
  if (staged.length === 0) return
  throw new OperationError(
    'INVALID_REQUEST',
    `Nothing was landed: the index has changes of ${someOf(staged, maxNamed)} that are staged. Commit them, or take them out of the index: git restore --staged -- ${staged.slice(0, maxNamed).join(' ')}`
  )
}
