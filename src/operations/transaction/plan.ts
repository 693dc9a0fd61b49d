// What a transaction makes of each path: all changes are for the files as they are before it, so that chains and swaps of names work.
import { resolve } from 'node:path'
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import { refuseLinkToItself } from '../../engine/files/links.ts'
import { hashInTurns, requireRegular, type FileVersion } from '../../engine/files/read-file.ts'
import type { PathChange } from '../../engine/commit/step.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { clash } from './items.ts'

/** One path, and what becomes of it. */
export interface PathPlan {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
  readonly kind: string
  readonly indices: number[]
  current: FileVersion | undefined
  before: PathChange['before'] | undefined
  after: PathChange['after'] | undefined
  isMoved: boolean
  renamedFrom: string | undefined
  renamedTo: string | undefined
  /** True if a file that is there may be replaced by one that is renamed. */
  mayReplace: boolean
  createDirs: boolean
  /** The caller knows all of the new version. */
  isWhole: boolean
}

export class Plan {
  readonly #paths = new Map<string, PathPlan>()
  readonly #context: OperationContext
  #bytes = 0

  constructor(context: OperationContext) {
    this.#context = context
  }

  get paths(): Iterable<PathPlan> {
    return this.#paths.values()
  }

  at(place: OpenEntry): PathPlan | undefined {
    return this.#paths.get(place.path)
  }

  /** @throws OperationError INVALID_REQUEST if another kind of change is about the path */
  enter(place: OpenEntry, path: string, kind: string, index: number): PathPlan {
    this.#context.files.checkWritable(place, path)
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
      before: undefined,
      after: undefined,
      isMoved: false,
      renamedFrom: undefined,
      renamedTo: undefined,
      mayReplace: true,
      createDirs: true,
      isWhole: false
    }
    this.#paths.set(place.path, plan)
    const { max_transaction_files: most } = this.#context.config.crud
    if (this.#paths.size > most)
      throw tooMuch(`The call is about more than ${most} files (crud.max_transaction_files).`)
    return plan
  }

  /** @throws OperationError if the path may not have these bytes */
  async give(plan: PathPlan, bytes: Buffer, mode?: number): Promise<void> {
    const { files, config } = this.#context
    const { max_transaction_bytes: most } = config.crud
    files.checkReplaceable(plan.path, plan.current, bytes)
    this.#bytes += bytes.length - (plan.after?.kind === 'bytes' ? plan.after.bytes.length : 0)
    if (this.#bytes > most) throw tooMuch(`The call writes more than ${most} bytes (crud.max_transaction_bytes).`)
    plan.after = { kind: 'bytes', bytes, hash: await hashInTurns(bytes), like: plan.current, mode }
  }

  /**
   * The changes to make, once all are planned.
   * @throws OperationError what is in the way at a path
   */
  changes(): PathChange[] {
    const changes: PathChange[] = []
    for (const plan of this.#paths.values()) {
      const change = this.#changeOf(plan)
      if (change !== undefined) changes.push(change)
    }
    return changes
  }

  /** What is in the way of one change, once all are planned. */
  refusalOf(plan: PathPlan): OperationError | undefined {
    try {
      this.#changeOf(plan)
      return undefined
    } catch (error) {
      if (error instanceof OperationError) return error
      throw error
    }
  }

  #changeOf(plan: PathPlan): PathChange | undefined {
    const { place, path, current, after, isMoved, renamedFrom, renamedTo } = plan
    if (after === undefined) return undefined
    if (after.kind === 'bytes' && current?.hash === after.hash && !isMoved) return undefined
    if (after.kind !== 'none') this.#requireRoom(plan)
    const before =
      plan.before ??
      (place.stat === undefined
        ? { kind: 'none' }
        : current === undefined
          ? { kind: 'entry' }
          : { kind: 'file', version: current })
    return { place, path, before, isMoved, after, renamedFrom, renamedTo }
  }

  #requireRoom({ place, path, after, isMoved, mayReplace, createDirs }: PathPlan): void {
    if (place.missing.length > 0 && !createDirs) {
      const message = `Directory does not exist: the one of ${path}. Create it, or pass create_dirs: true.`
      throw new OperationError('DIR_NOT_FOUND', message, { path })
    }
    if (place.stat !== undefined && !place.stat.isSymbolicLink()) requireRegular(place.stat, path)
    if (place.stat !== undefined && !isMoved && !mayReplace) {
      const message = `File already exists: ${path}. Pass overwrite: true to replace it, or choose another name.`
      throw new OperationError('FILE_EXISTS', message, { path })
    }
    if (after?.kind === 'moved') refuseLinkToItself(after.from, place, path)
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

function tooMuch(what: string): OperationError {
  return new OperationError('INVALID_REQUEST', `${what} Nothing was changed: send smaller transactions.`)
}
