// Plans a change of a client's file, shows it, and makes it.
import { addEntry, removeEntry, type Target } from './entry.ts'
import type { EditRecord, Journal } from './journal.ts'
import { readUserFile, removeUserFile, writeUserFile } from './user-file.ts'

export interface Plan {
  readonly file: string
  /** Undefined if there is no file. */
  readonly before: string | undefined
  /** Undefined if the file is removed. */
  readonly after: string | undefined
  readonly isChange: boolean
  /** Makes the change and remembers how to undo it. @throws Error if the file was changed meanwhile */
  apply(): void
}

export interface EntryLocation {
  /** In the journal. */
  readonly what: string
  readonly file: string
  readonly target: Target
  /** Permissions of a file that does not exist yet. */
  readonly newMode: number
}

const byteOrderMark = '\uFEFF'

/**
 * @param isOurs whether what is in our place may be replaced
 * @throws Error that names the file and what is wrong with it; the file is unchanged
 */
export function planAddition(
  { what, file, target, newMode }: EntryLocation,
  journal: Journal,
  isOurs: (entry: unknown) => boolean
): Plan {
  const userFile = readUserFile(file)
  const { mark, text } = split(userFile.text)
  const record = journal.find(what, file)
  const { text: after, inserted } = within(file, () => {
    const current = target.current(target.parse(text))
    if (current !== undefined && !isAsInserted(text, record) && !isOurs(current))
      throw new Error('has an entry of this name that setup did not write: rename it, or pass --force to replace it')
    return addEntry(text, target, record?.inserted)
  })
  return {
    file,
    before: userFile.bytes === undefined ? undefined : userFile.text,
    after: mark + after,
    isChange: after !== text,
    apply() {
      if (after === text) return
      const folders = writeUserFile(userFile, mark + after, newMode)
      const isNewFile = userFile.bytes === undefined || (record?.isNewFile ?? false)
      journal.recordEdit({ what, file, isNewFile, ...(inserted !== undefined && { inserted }) }, folders)
    }
  }
}

/** @throws as `planAddition` does */
export function planRemoval(
  { what, file, target, newMode }: EntryLocation,
  journal: Journal,
  isOurs: (entry: unknown) => boolean
): Plan {
  const userFile = readUserFile(file)
  const { mark, text } = split(userFile.text)
  const record = journal.find(what, file)
  const rest = within(file, () => {
    const current = target.current(target.parse(text))
    if (current === undefined || (!isAsInserted(text, record) && !isOurs(current))) return text
    return removeEntry(text, target, record?.inserted)
  })
  const goes = record?.isNewFile === true && rest.trim() === ''
  return {
    file,
    before: userFile.bytes === undefined ? undefined : userFile.text,
    after: goes || userFile.bytes === undefined ? undefined : mark + rest,
    isChange: userFile.bytes !== undefined && (goes || rest !== text),
    apply() {
      if (userFile.bytes !== undefined) {
        if (goes) removeUserFile(userFile)
        else if (rest !== text) writeUserFile(userFile, mark + rest, newMode)
      }
      journal.forgetEdit(what, file)
    }
  }
}

/** True if the file still contains the text that was inserted. The user may have replaced it since. */
function isAsInserted(text: string, record: EditRecord | undefined): boolean {
  return record?.inserted !== undefined && text.includes(record.inserted)
}

function split(text: string): { mark: string; text: string } {
  return text.startsWith(byteOrderMark) ? { mark: byteOrderMark, text: text.slice(1) } : { mark: '', text }
}

function within<Result>(file: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw new Error(`${file} ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
