// Reads several files as of one moment: under all their locks, and again if another program changes one meanwhile.
import type { ReadInput } from '../../schemas/read.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { assertUnchanged, StaleFileError } from '../engine/commit/preconditions.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import { OperationError } from '../errors.ts'
import { present, type ReadAnswer, type Take } from './async-read.ts'
import { readVersion } from './change/file-version.ts'
import { snapshotNow } from './change/kept-version.ts'
import type { InputCheck } from './definition/check-input.ts'
import { takeInput } from './definition/copy-input.ts'
import { explainGone } from './locking/gone-file.ts'
import { withLocks } from './locking/with-locks.ts'

type Item = Omit<ReadInput, 'agent_id' | 'include_modified'>

interface Together {
  readonly snapshot: string
  /** @throws OperationError why the file could not be read */
  readonly answer: (input: Item, take: Take, maxChars?: number) => Promise<ReadAnswer>
}

type Found = { readonly version: FileVersion; readonly canonicalPath: string }

/** @throws OperationError if a path cannot be locked */
export async function readTogether(
  files: readonly unknown[],
  check: InputCheck<{ readonly path: string }>,
  context: OperationContext
): Promise<Together> {
  const paths = [...new Set(files.map((file, index) => check(takeInput(file), `files[${index}]`).path))]
  const targets = paths.map((path) => ({ path, mode: 'shared', reach: 'target' }) as const)
  const options = { operation: 'async_batch_read', timeout: context.config.crud.max_timeout }
  return withLocks(context, targets, options, async (places) => {
    const found = new Map<string, Found | OperationError>()
    for (const [index, place] of places.entries()) {
      const path = paths[index]!
      try {
        found.set(path, { version: await readVersion(context, place, path), canonicalPath: place.path })
      } catch (error) {
        if (!(error instanceof OperationError) || context.signal.aborted) throw error
        found.set(path, explainGone(error, place.path, 'async_read', context) as OperationError)
      }
    }
    // In one tick: all of them are as they were read.
    for (const [index, place] of places.entries()) {
      const one = found.get(paths[index]!)
      if (one !== undefined && 'version' in one) assertUnchanged(place, one.version)
      else if (place.stat === undefined && place.directory.stat(place.name) !== undefined && place.missing.length === 0)
        throw new StaleFileError(`created meanwhile: ${place.path}`)
    }
    return {
      snapshot: snapshotNow(context),
      async answer(input, take, maxChars) {
        const one = found.get(input.path)
        if (one === undefined || one instanceof OperationError) throw one ?? new Error(`not read: ${input.path}`)
        return present(input, one.version, one.canonicalPath, context, take, maxChars)
      }
    }
  })
}
