// Files that were not in use, as they were before a command changed them that is not over yet. They are read before the next command begins:
// it may change them once more, and its change needs a version to begin at.
import { lstatSync } from 'node:fs'
import { sep } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import type { Logger } from '../../support/logger.ts'
import { createSlices, inSlices } from '../../support/slices.ts'
import { examine, type ExamineParts } from '../watcher/examine.ts'
import type { LookAtFolders } from './arrival.ts'
import { findCleanBases, type Clean } from './clean-bases.ts'
import type { OpenCommand } from './open-command.ts'
import { hasChanged, type Survey, type Surveys } from './tree-changes.ts'

interface Parts extends ExamineParts {
  readonly lookAtFolders: LookAtFolders
  readonly log: Logger
}

export type StatesBefore = ReturnType<typeof createStatesBefore>

export function createStatesBefore({ lookAtFolders, log, ...parts }: Parts) {
  const { history, bases } = parts
  const wanted = new Map<string, Clean>()
  let reading = Promise.resolve()

  async function readAll(): Promise<void> {
    const all = [...wanted.values()]
    wanted.clear()
    try {
      for (const [path, state] of await findCleanBases(all, bases))
        if (history.last(path) === undefined) history.begin(path, state)
    } catch (error) {
      log.warn({ err: error }, 'what files were before a command has changed them could not be read')
    }
  }

  /**
   * @param running commands that may have changed it, in the order in which they began
   * @param now made since
   */
  function find(path: string, running: readonly OpenCommand[], now?: Surveys, arrivals = lookAtFolders()): void {
    if (history.last(path) !== undefined) return
    const clean = running.filter(({ before }) => cleanTree(path, before) !== undefined)
    const tree = cleanTree(path, clean.at(-1)?.before)
    const stat = orUndefined(() => lstatSync(path, { bigint: true }))
    if (tree === undefined || !hasChanged(path, stat, clean.at(-1)!.begun, arrivals)) return
    const found = surveyOf(path, now)
    if (found?.files.get(path)?.isNew === true && found.tree?.commit === tree.commit) {
      for (const { absent } of clean) absent.add(path)
      return
    }
    if (wanted.size === 0) reading = reading.then(readAll)
    wanted.set(path, { path, tree, mode: stat && Number(stat.mode) & 0o7777 })
  }

  return {
    find: (path: string, running: readonly OpenCommand[]): void => find(path, running),
    /** The same for many, which are looked at then: what the commands have made of them is known, too. */
    async findAll(paths: Iterable<string>, running: readonly OpenCommand[], now?: Surveys): Promise<void> {
      if (running.length === 0) return
      const unused: string[] = []
      const arrivals = lookAtFolders()
      await inSlices(paths, (path) => {
        if (history.last(path) === undefined) unused.push(path)
        find(path, running, now, arrivals)
      })
      await reading
      const { pause } = createSlices()
      for (const path of unused) {
        if (history.last(path) !== undefined) await examine(path, () => false, parts)
        await pause()
      }
    },
    /** Once all is read that was to be found by now. */
    settled: (): Promise<void> => reading
  }
}

function surveyOf(path: string, surveys: Surveys | undefined): Survey | undefined {
  for (const [root, survey] of surveys ?? []) if (path.startsWith(root + sep)) return survey
  return undefined
}

/** The tree whose commit had the file as it was then. */
function cleanTree(path: string, surveys: Surveys | undefined): Survey['tree'] {
  const survey = surveyOf(path, surveys)
  return survey?.isComplete === true && !survey.files.has(path) ? survey.tree : undefined
}
