// Plans a change of a client's file, shows it, and makes it.
import { addEntry, isSame, removeEntry, type Target } from './entry.ts'
import type { EditRecord, Journal } from './journal.ts'
import { readUserFile, removeUserFile, writeUserFile } from './user-file.ts'

export interface Plan {
  readonly file: string
  /** Undefined if there is no file. */
  readonly before: string | undefined
  /** Undefined if the file is removed. */
  readonly after: string | undefined
  readonly isChange: boolean
  /** What the user should know instead of the outcome. */
  readonly note?: string
  /** What the user should know beside it. */
  readonly remark?: string
  /** Makes the change and remembers how to undo it. @throws Error if the file was changed meanwhile */
  apply(): void
}

export interface EntryLocation {
  /** In the journal. */
  readonly what: string
  readonly file: string
  readonly target: Target
  /** The client does not read the file if it begins with a byte order mark. */
  readonly refusesMark?: boolean
  /** Permissions of a file that does not exist yet. */
  readonly newMode: number
}

const byteOrderMark = '\uFEFF'

/** In one file. */
type Locations = EntryLocation | readonly [EntryLocation, ...EntryLocation[]]

/** Whether what is in our place may be replaced or removed. */
type IsOurs = (entry: unknown) => boolean

/** @throws Error that names the file and what is wrong with it; the file is unchanged */
export function planAddition(locations: Locations, journal: Journal, isOurs: IsOurs): Plan {
  const { all, file, newMode, userFile, present, mark, text } = look(locations)
  const dropsMark = mark !== '' && all.some(({ refusesMark }) => refusesMark)
  const records: Pick<EditRecord, 'what' | 'inserted'>[] = []
  const isChanged = within(file, () => all.length > 1 && all.some(({ target }) => isOther(target, text)))
  // Of several, one that changes is within what another has inserted: all go first, so that nothing is left of them later.
  let after = isChanged ? withoutAll(all, text, journal, isOurs) : text
  for (const { what, target } of all) {
    const record = isChanged ? undefined : journal.find(what, file)
    const before = after
    const isAsBefore = isAsInserted(text, record)
    const added = within(file, () => {
      const current = target.current(target.parse(before))
      const isFree = current === undefined || isSame(current, target.value)
      if (!isFree && !isAsBefore && !isOurs(current))
        throw new Error('has an entry of this name that setup did not write: rename it, or pass --force to replace it')
      return addEntry(before, target, record?.inserted)
    })
    after = added.text
    if (after !== before) records.push({ what, ...(added.inserted !== undefined && { inserted: added.inserted }) })
  }
  const whole = (dropsMark ? '' : mark) + after
  const isChange = whole !== userFile.text
  return {
    file,
    before: present,
    after: whole,
    isChange,
    ...(dropsMark && {
      remark: `${file} began with a byte order mark, with which the client refuses it: it is written without`
    }),
    apply() {
      if (!isChange) return
      let folders = writeUserFile(userFile, whole, newMode)
      for (const record of records) {
        const isNewFile = userFile.bytes === undefined || (journal.find(record.what, file)?.isNewFile ?? false)
        journal.recordEdit({ file, isNewFile, ...record }, folders)
        folders = []
      }
    }
  }
}

/** @throws as `planAddition` does */
export function planRemoval(locations: Locations, journal: Journal, isOurs: IsOurs): Plan {
  const { all, file, newMode, userFile, present, mark, text } = look(locations)
  const rest = withoutAll(all, text, journal, isOurs)
  const isNewFile = all.some(({ what }) => journal.find(what, file)?.isNewFile === true)
  const goes = isNewFile && rest.trim() === ''
  return {
    file,
    before: present,
    after: goes || userFile.bytes === undefined ? undefined : mark + rest,
    isChange: userFile.bytes !== undefined && (goes || rest !== text),
    apply() {
      if (userFile.bytes !== undefined) {
        if (goes) removeUserFile(userFile)
        else if (rest !== text) writeUserFile(userFile, mark + rest, newMode)
      }
      for (const { what } of all) journal.forgetEdit(what, file)
    }
  }
}

function look(locations: Locations) {
  const all = 'what' in locations ? ([locations] as const) : locations
  const { file, newMode } = all[0]
  const userFile = readUserFile(file)
  const present = userFile.bytes === undefined ? undefined : userFile.text
  return { all, file, newMode, userFile, present, ...split(userFile.text) }
}

function withoutAll(all: readonly EntryLocation[], text: string, journal: Journal, isOurs: IsOurs): string {
  let rest = text
  // The last one that was inserted may be within an earlier one.
  for (const { what, file, target } of all.toReversed()) {
    const before = rest
    rest = within(file, () => withoutOurs(before, target, journal.find(what, file), isOurs))
  }
  return rest
}

/** Whether something else is in our place. */
function isOther(target: Target, text: string): boolean {
  const current = target.current(target.parse(text))
  return current !== undefined && !isSame(current, target.value)
}

function withoutOurs(text: string, target: Target, record: EditRecord | undefined, isOurs: IsOurs): string {
  const current = target.current(target.parse(text))
  if (current === undefined || (!isAsInserted(text, record) && !isOurs(current))) return text
  return removeEntry(text, target, record?.inserted)
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
