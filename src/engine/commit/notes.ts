// The files of notes, in the server's own folder: while one is there, its change is under way, and whoever serves the tree next ends it.
import { closeSync, constants, fdatasync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { attempt, orUndefined } from '../../support/attempt.ts'
import { mapTexts } from '../../support/map-texts.ts'
import { below } from '../../support/relocate.ts'
import type { Directory, OwnFolder, Shelf } from '../files/directory.ts'
import { isOfThisProcess, processName, temporaryName } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'
import type { Durability } from './durability.ts'
import { fromEarlierNote } from './earlier-notes.ts'
import { isNotedStep, type Note, type NoteAuthor, type NotedStep } from './note.ts'
import type { Stage } from './stages.ts'
import { Unanswered } from './unanswered.ts'
import { removeIfThere, rename } from './write-file.ts'
import { readText } from '../../support/read-text.ts'

const fdatasyncAsync = promisify(fdatasync)

/** The note of one change. On the disk there is none until something is noted. */
export interface OpenNote {
  readonly name: string
  /** Before they are made. Empty folders are worth no flush, and no failure: they are made all the same. */
  noteFolders(paths: readonly string[]): Promise<void>
  /**
   * Before the first step is made, durably: a process that finds the note finishes the change, or takes it back.
   * @param check called right before that, in the same tick; throws to refuse
   */
  noteSteps(steps: readonly NotedStep[], check?: () => void): Promise<void>
  /** The change failed: a process that finds the note takes back what was made. Durable once this returns. @throws Error of the file system */
  turnBack(): void
  /** The change is over. @throws Error of the file system; then it can be called again */
  end(): Promise<void>
  /** The next host that serves the tree ends the change. */
  leave(): void
}

export interface LeftNote {
  readonly name: string
  /** Undefined if it cannot be read. */
  readonly note: Note | undefined
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
/** The last two are names that earlier versions gave. */
const pattern = /^(?:change|transaction|unfinished)-(\d+)-([0-9a-z]+)-[0-9a-f]{16}(?:\.back)?\.json$/
const settledPattern = /^settled-.*\.(made|not-made)$/
/** Longer than any receipt is kept. */
const settledMs = 7 * 86_400_000
const pathNames: ReadonlySet<string> = new Set(['path', 'renamedFrom', 'renamedTo', 'folders'])

export type Notes = ReturnType<typeof createNotes>

/**
 * @param stage of the first root if several hosts serve the tree: the notes come from there, so a host that has lost the tree adds none
 * @param root real path of the first root: in the notes of several hosts paths are relative to it
 */
export function createNotes(folder: OwnFolder, { isFull }: Durability, stage: Stage | undefined, root: string) {
  const toText = (note: Note) =>
    JSON.stringify(stage === undefined ? note : mapTexts(note, pathNames, (path) => below(root, path) ?? path))

  function begin({ agentId, operation, changeSet }: NoteAuthor): OpenNote {
    const name = `change-${processName()}.json`
    const author = { agentId, operation, ...(changeSet !== undefined && { changeSet }) }
    const folders: string[] = []
    let own: Directory | undefined
    let present: string | undefined
    let isDurable = false

    async function put(steps: readonly NotedStep[], check: () => void = () => {}): Promise<void> {
      own ??= folder.hold()
      const shelf: Shelf = stage ?? own
      const temporary = temporaryName()
      try {
        const fd = shelf.within((at) => openSync(at(temporary), createFlags, 0o600))
        try {
          writeFileSync(fd, toText({ ...author, steps, ...(folders.length > 0 && { folders }) }))
          if (isDurable) await fdatasyncAsync(fd)
        } finally {
          closeSync(fd)
        }
        check()
        rename(shelf, temporary, { directory: own, name })
        present = name
      } catch (error) {
        attempt(() => removeIfThere(shelf, temporary))
        if (error instanceof Unanswered) {
          // It may be there, and a later process would carry it out.
          present = name
          stage?.doubt()
          throw error
        }
        throw stage === undefined ? error : stage.explain(error, steps[0]?.path ?? name)
      }
      if (isDurable) await own.sync()
    }

    function leave(): void {
      own?.close()
      own = undefined
    }

    return {
      name,
      async noteFolders(paths) {
        if (paths.length === 0) return
        folders.push(...paths)
        await put([]).catch(() => {})
      },
      async noteSteps(steps, check) {
        isDurable = isFull
        await put(steps, check)
      },
      turnBack() {
        if (own === undefined || present === undefined) return
        const turned = name.replace(/\.json$/, '.back.json')
        rename(own, present, { directory: own, name: turned })
        present = turned
        if (isDurable) own.syncNow()
      },
      async end() {
        if (own !== undefined && present !== undefined) {
          removeIfThere(own, present)
          if (isDurable) await own.sync()
        }
        leave()
      },
      leave
    }
  }

  function parse(text: string, open: (path: string) => OpenEntry): Note | undefined {
    const value = orUndefined(() => JSON.parse(text) as unknown)
    const note = isNote(value) ? value : fromEarlierNote(value, open)
    return stage && note ? (mapTexts(note, pathNames, (path) => resolve(root, path)) as Note) : note
  }

  function withOwn<Result>(use: (own: Directory) => Result): Result {
    const own = folder.hold()
    try {
      return use(own)
    } finally {
      own.close()
    }
  }

  return {
    begin,
    /** Those of earlier processes. @param open the place of an entry; the caller closes it */
    left: (open: (path: string) => OpenEntry): LeftNote[] =>
      withOwn((own) =>
        own
          .within((at) => readdirSync(at('.')))
          .filter((name) => pattern.test(name) && !isOfThisProcess(name))
          .map((name) => ({ name, text: own.within((at) => readText(at(name))) }))
          .map(({ name, text }) => ({ name, note: parse(text, open) }))
      ),
    /** Ends the note of an earlier process. @param verdict is kept, for receipts that are looked at later */
    settle: (name: string, verdict: 'made' | 'not-made' | 'damaged'): void =>
      withOwn((own) => {
        rename(own, name, { directory: own, name: `settled-${name}.${verdict}` })
        if (isFull) own.syncNow()
        for (const old of own.within((at) => readdirSync(at('.')))) {
          const stat = settledPattern.test(old) ? own.stat(old) : undefined
          if (stat !== undefined && Date.now() - Number(stat.mtimeMs) > settledMs)
            attempt(() => removeIfThere(own, old))
        }
      }),
    /** Removes the note of an earlier process that no receipt names. */
    remove: (name: string): void => withOwn((own) => removeIfThere(own, name)),
    /** Whether the change of an earlier process was made. One whose note never came into its place was not. */
    wasMade: (name: string): boolean =>
      pattern.test(name) && withOwn((own) => own.stat(`settled-${name}.made`) !== undefined)
  }
}

function isNote(value: unknown): value is Note {
  const { agentId, operation, steps, folders = [] } = (value ?? {}) as Partial<Record<keyof Note, unknown>>
  return (
    typeof agentId === 'string' &&
    typeof operation === 'string' &&
    Array.isArray(steps) &&
    steps.every(isNotedStep) &&
    Array.isArray(folders) &&
    folders.every((path) => typeof path === 'string')
  )
}
