// Asks the server for versions of files and what differs between them; asked for once, since a version never changes.
import type { BlameOutput } from '../schemas/blame.ts'
import type { Diff } from '../schemas/diff.ts'
import type { Static } from '../schemas/typebox.ts'
import type { HistoryVersion } from './model.ts'
import { call } from './server.ts'
import { describeLines, parseUnified, type Hunk } from './unified.ts'

const maxKept = 300
const maxAtOnce = 3

const kept = new Map<string, Promise<readonly Hunk[]>>()
const known = new Map<string, string>()
let running = 0
const waiting: (() => void)[] = []

/** @throws ServerError if one of the two is not kept, or is no text */
export function diffOf(path: string, from: string, to: string): Promise<readonly Hunk[]> {
  const key = `${path}\0${from}\0${to}`
  let answer = kept.get(key)
  if (answer === undefined) {
    answer = inTurn(() => askFor(path, from, to))
    kept.set(key, answer)
    answer.catch(() => kept.delete(key))
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
  }
  return answer
}

export const diffInput = (path: string, from: string, to: string) => ({
  path,
  from_hash: from,
  to_hash: to,
  diff_format: 'unified'
})

async function askFor(path: string, from: string, to: string): Promise<readonly Hunk[]> {
  const { diff } = await call<{ diff: Diff | null }>('async_diff', diffInput(path, from, to))
  if (diff === null) throw new Error('The difference is larger than crud.diff_max_bytes.')
  return parseUnified(diff.content ?? '')
}

/** Which lines a change is about, in words; undefined until it is known. */
export function linesOf(path: string, from: string, to: string, onKnown: () => void): string | undefined {
  const key = `${path}\0${from}\0${to}`
  const words = known.get(key)
  if (words !== undefined) return words
  known.set(key, '')
  if (known.size > 4000) known.delete(known.keys().next().value as string)
  const keep = (text: string) => {
    known.set(key, text)
    onKnown()
  }
  diffOf(path, from, to).then(
    (hunks) => keep(describeLines(hunks)),
    () => keep('')
  )
  return undefined
}

/** Without asking. */
export const knownLines = (path: string, from: string, to: string): string => known.get(`${path}\0${from}\0${to}`) ?? ''

export async function versionsOf(path: string): Promise<HistoryVersion[]> {
  const { versions } = await call<{ versions: HistoryVersion[] }>('async_history', { path, limit: 50 })
  return versions
}

export interface Present {
  readonly exists: boolean
  readonly hash: string | null
}

/** What is there right now. */
export const presentOf = (path: string): Promise<Present> => call<Present>('async_status', { path })

export type Blame = Static<typeof BlameOutput>

/** Who made each line of what is there now. */
export const blameOf = (path: string): Promise<Blame> => call<Blame>('async_blame', { path })

/** A file and who made each of its lines, both of one version. */
export async function blamedText(path: string): Promise<{ blame: Blame; content: string }> {
  for (;;) {
    const [blame, text] = await Promise.all([
      blameOf(path),
      call<{ content?: string; hash: string }>('async_read', { path })
    ])
    // It may be changed between the two.
    if (blame.hash === text.hash) return { blame, content: text.content ?? '' }
  }
}

interface Made {
  readonly hash?: string
  readonly at?: string
}

/** How often a file is followed to the name that it had before. */
const maxNames = 10

/** The change that made a version, under whichever name the file had then. */
export async function changeThatMade(path: string, made: Made): Promise<HistoryVersion | undefined> {
  let name: string | undefined = path
  for (let step = 0; step < maxNames && name !== undefined; step += 1) {
    const versions = await versionsOf(name)
    const found = versions.find(({ hash, at }) => hash === made.hash && at === made.at)
    if (found !== undefined) return found
    name = versions.findLast(({ renamed_from }) => renamed_from !== undefined)?.renamed_from
  }
  return undefined
}

/** A few at a time: the agents come first. */
export async function inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  if (running >= maxAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    return await work()
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
