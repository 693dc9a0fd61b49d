// The flat folder of FES: the files directly in the first root, with the facts that list_files gives.
import { OperationError } from '../../errors.ts'
import { mayAccess } from './access.ts'
import type { Directory } from './directory.ts'
import { findEntries, type Search } from './find-entries.ts'
import type { Steps } from '../../support/progress.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import { createSurveyor, type LineCounter, type Survey, type SurveyedFile, type SurveyOptions } from './survey.ts'
import { createSlices } from '../../support/slices.ts'
import type { OpenEntry } from './walk.ts'

/** Of the file store. */
interface FolderAccess {
  readonly open: (path: string, reach: 'target') => OpenEntry
  readonly withDirectory: <Result>(path: string, use: (directory: Directory) => Promise<Result>) => Promise<Result>
  readonly relativeTo: (place: OpenEntry) => string
}

export interface FolderListing {
  readonly count: LineCounter
  /** Entries examined before giving up. */
  readonly maxEntries: number
  readonly signal: AbortSignal
  readonly steps?: Steps | undefined
}

const search: Search = { matches: (name) => !name.startsWith('.'), reaches: () => false, includesGit: true }

export function createFolderSurvey(options: SurveyOptions, { open, withDirectory, relativeTo }: FolderAccess) {
  const surveyor = createSurveyor(options)
  const surveys = createSharedRounds<readonly SurveyedFile[]>()

  /**
   * The regular files that are not hidden, sorted by name; a link counts as the file that it leads to inside the roots.
   * @throws OperationError DIR_NOT_FOUND, ACCESS_DENIED, OVERLOADED
   */
  async function survey(listing: FolderListing): Promise<readonly SurveyedFile[]> {
    // Who wants to see the steps has a round of its own.
    if (listing.steps !== undefined) return surveyNow(listing)
    return surveys.ask(String(listing.maxEntries), (signal) => surveyNow({ ...listing, signal }), listing.signal)
  }

  function surveyNow({ count, maxEntries, signal, steps }: FolderListing): Promise<readonly SurveyedFile[]> {
    return withDirectory('.', async (directory) => {
      const { pause } = createSlices(signal)
      const { found } = await findEntries(directory, '.', { search, ignore: false, maxEntries, signal }, pause)
      const listing = surveyor.begin(count)
      const isReplaceable = mayWriteIn(directory)
      steps?.expect(found.length)
      for (const { name, type } of found) {
        await pause()
        steps?.add()
        if (type !== 'file' && type !== 'symlink') continue
        const stat = directory.stat(name)
        if (stat === undefined) continue
        if (!name.isWellFormed()) listing.addUnreachable(name, stat)
        else if (type === 'symlink') await addTarget(listing, name)
        else if (stat.isFile()) await listing.add({ name, stat, directory, entryName: name, path: name, isReplaceable })
      }
      return listing.finish()
    })
  }

  async function addTarget(listing: Survey, name: string): Promise<void> {
    const place = openIfReachable(name)
    try {
      if (place?.stat?.isFile() !== true) return
      const { stat, directory, name: entryName } = place
      const isReplaceable = mayWriteIn(directory)
      await listing.add({ name, stat, directory, entryName, path: relativeTo(place), isReplaceable })
    } finally {
      place?.close()
    }
  }

  /** Undefined if a link leads nowhere, or out of the roots. */
  function openIfReachable(path: string): OpenEntry | undefined {
    try {
      return open(path, 'target')
    } catch (error) {
      if (error instanceof OperationError && error.code !== 'OVERLOADED') return undefined
      throw error
    }
  }

  return survey
}

function mayWriteIn(directory: Directory): boolean {
  const stat = directory.stat('.')
  return stat !== undefined && mayAccess(directory, '.', stat, 'write')
}
