// What a change makes of each path. Several that are made together are for the files as they are before, so that chains and swaps of names work.
import { resolve } from 'node:path'
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { requireFolder } from '../../engine/commit/parents.ts'
import { requireAbsent } from '../../engine/commit/preconditions.ts'
import { isCleared, obstacleOf } from '../../engine/commit/swap.ts'
import { refuseLinkToItself } from '../../engine/files/links.ts'
import { hashInTurns } from '../../engine/files/content-hash.ts'
import { requireRegular, type FileVersion } from '../../engine/files/read-file.ts'
import type { Step } from '../../engine/commit/step.ts'
import { notADirectory, type OpenEntry } from '../../engine/files/walk.ts'
import type { Sight } from './commit.ts'
import { notKept, replacedBy, type Replaced } from './entry-version.ts'
import { requireReplaceable } from './replaceable.ts'

/** One path, and what becomes of it. */
export interface PathPlan {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
  /** What is done to it: `update`, `delete` ... */
  readonly kind: string
  readonly indices: number[]
  current: FileVersion | undefined
  after: Step['after'] | undefined
  isMoved: boolean
  renamedFrom: string | undefined
  renamedTo: string | undefined
  /** True if a file that is there may be replaced by one that is renamed. */
  mayReplace: boolean
  createDirs: boolean
  /** What the caller knows of the new version. */
  sight: Sight
}

export interface PlanLimits {
  /** The settings are crud.max_<kind>_files and crud.max_<kind>_bytes. */
  readonly kind: 'transaction' | 'layer'
  readonly maxFiles: number
  readonly maxBytes: number
}

interface TransactionSettings {
  readonly max_transaction_files: number
  readonly max_transaction_bytes: number
}

export function transactionLimits(crud: TransactionSettings): PlanLimits {
  return { kind: 'transaction', maxFiles: crud.max_transaction_files, maxBytes: crud.max_transaction_bytes }
}

export class Plan {
  readonly #paths = new Map<string, PathPlan>()
  readonly #context: OperationContext
  readonly #limits: PlanLimits | undefined
  #bytes = 0

  /** @param limits default: those of single files only */
  constructor(context: OperationContext, limits?: PlanLimits) {
    this.#context = context
    this.#limits = limits
  }

  at(place: OpenEntry): PathPlan | undefined {
    return this.#paths.get(place.path)
  }

  /** @throws OperationError INVALID_REQUEST if another kind of change is about the path */
  enter(place: OpenEntry, path: string, kind: string, index: number): PathPlan {
    const known = this.#paths.get(place.path)
    if (known !== undefined && known.kind !== kind)
      throw clash(path, [known.indices[0]!, index], `one is to ${known.kind}, the other to ${kind} it.`)
    known?.indices.push(index)
    if (known !== undefined) return known
    const plan: PathPlan = {
      place,
      path,
      kind,
      indices: [index],
      current: undefined,
      after: undefined,
      isMoved: false,
      renamedFrom: undefined,
      renamedTo: undefined,
      mayReplace: true,
      createDirs: true,
      sight: undefined
    }
    this.#paths.set(place.path, plan)
    if (this.#limits !== undefined && this.#paths.size > this.#limits.maxFiles) throw tooMuch('files', this.#limits)
    return plan
  }

  /** @throws OperationError if the path may not have these bytes */
  async give(plan: PathPlan, bytes: Buffer, mode?: number): Promise<void> {
    const { current } = plan
    const isSame = current?.bytes.equals(bytes) === true
    if (!isSame) requireReplaceable(this.#context, plan.path, current, bytes)
    this.#bytes += bytes.length - (plan.after?.kind === 'bytes' ? plan.after.bytes.length : 0)
    if (this.#limits !== undefined && this.#bytes > this.#limits.maxBytes) throw tooMuch('bytes', this.#limits)
    plan.after = { kind: 'bytes', bytes, hash: isSame ? current.hash : await hashInTurns(bytes), like: current, mode }
  }

  /**
   * What is to be made, once all is planned.
   * @throws OperationError what is in the way at a path
   */
  steps(): Step[] {
    const steps: Step[] = []
    for (const plan of this.#paths.values()) {
      const step = this.#stepOf(plan)
      if (step !== undefined) steps.push(step)
    }
    return steps
  }

  /** What is in the way of one change, once all are planned. */
  refusalOf(plan: PathPlan): OperationError | undefined {
    try {
      this.#stepOf(plan)
      return undefined
    } catch (error) {
      if (error instanceof OperationError) return error
      throw error
    }
  }

  #stepOf(plan: PathPlan): Step | undefined {
    const { place, path, current, after, isMoved, renamedFrom, renamedTo } = plan
    if (after === undefined) return undefined
    if (after.kind === 'bytes' && current?.hash === after.hash && !isMoved && isModeOf(after.mode, current))
      return undefined
    if (after.kind !== 'none') this.#requireRoom(plan)
    const before: Step['before'] =
      place.stat === undefined
        ? { kind: 'none' }
        : place.stat.isDirectory()
          ? { kind: 'folder' }
          : current === undefined
            ? { kind: 'entry' }
            : { kind: 'file', version: current }
    return { place, path, before, isMoved, after, renamedFrom, renamedTo }
  }

  #requireRoom({ place, path, after, isMoved, mayReplace, createDirs }: PathPlan): void {
    const leaves = (other: string) => this.#paths.get(other)?.after?.kind === 'none'
    const isInTheWay = !isCleared(place, leaves)
    const obstacle = obstacleOf(place)
    if (isInTheWay && obstacle !== undefined) throw notADirectory(obstacle, path)
    requireFolder(place, path, createDirs)
    // First: to overwrite is no way out of this one.
    if (after?.kind === 'moved') refuseLinkToItself(after.from, place, path)
    const isFolder = place.stat?.isDirectory() === true
    if (!isMoved && !mayReplace && (!isFolder || isInTheWay))
      requireAbsent(place, path, 'Pass overwrite: true to replace it, or choose another name.')
    if (isFolder ? isInTheWay : place.stat?.isSymbolicLink() === false) requireRegular(place.stat, path)
    const above = this.#fileAbove(place)
    if (above === undefined) return
    const message = `${path} lies below ${above.path}, which is to be a file. Choose another name for one of the two.`
    throw new OperationError('INVALID_REQUEST', message, { path })
  }

  #fileAbove({ directory, missing }: OpenEntry): PathPlan | undefined {
    let path = directory.path
    for (const name of missing) {
      path = resolve(path, name)
      const plan = this.#paths.get(path)
      if (plan?.after !== undefined && plan.after.kind !== 'none') return plan
    }
    return undefined
  }
}

/** For a message: the second change that cannot be made beside the first. */
export function clash(path: string, indices: readonly number[], why: string): OperationError {
  const [first, second] = indices
  const message = `changes[${first}] and changes[${second}] are both about ${path}: ${why} Nothing was changed. Make one change of the two, or send two calls.`
  return new OperationError('INVALID_REQUEST', message, { path, details: { changes: indices } })
}

/** What an answer says of a path. */
export function outcomeOf(plan: PathPlan, context: Pick<OperationContext, 'bases'>) {
  const { place, current, after, isMoved } = plan
  const changed = after !== undefined && !(after.kind === 'bytes' && after.hash === current?.hash)
  const written = after?.kind === 'bytes' ? after.bytes : undefined
  const replaced: Replaced =
    !changed || isMoved
      ? {}
      : written !== undefined && current !== undefined
        ? replacedBy(context, place, current)
        : notKept(context, place, current)
  return { hash: hashAfter(plan) ?? null, bytes_written: changed && written ? written.length : 0, changed, replaced }
}

function hashAfter({ after, current }: PathPlan): string | undefined {
  if (after === undefined) return current?.hash
  if (after.kind === 'bytes') return after.hash
  return after.kind === 'moved' ? after.version?.hash : undefined
}

/** True if a file need not be written for its mode. */
function isModeOf(mode: number | undefined, current: FileVersion | undefined): boolean {
  return mode === undefined || mode === current?.mode
}

function tooMuch(what: 'files' | 'bytes', { kind, maxFiles, maxBytes }: PlanLimits): OperationError {
  const setting = `crud.max_${kind}_${what}`
  const happened =
    what === 'files'
      ? `The call is about more than ${maxFiles} files (${setting}).`
      : `The call writes more than ${maxBytes} bytes (${setting}).`
  const advice =
    kind === 'transaction' ? 'send smaller transactions.' : 'raise the setting, or change less by one command.'
  return new OperationError('INVALID_REQUEST', `${happened} Nothing was changed: ${advice}`)
}
