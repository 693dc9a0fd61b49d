// What the page knows of the tree: types of the contract, and what is made of them. Pure: it runs in Node, too.
import type { Activity, AgentFacts } from '../schemas/activity.ts'
import type { Event, Gap, Ready } from '../schemas/events.ts'
import type { Health } from '../schemas/health.ts'
import type { HistoryVersion } from '../schemas/history.ts'
import type { LockList } from '../schemas/lock-list.ts'

export type { Activity, AgentFacts, HistoryVersion, LockList }
export type TreeEvent = Event | Gap | Ready
export type Degraded = Health['degraded'][number]
export type LockedFile = LockList['files'][number]
export type Holder = LockedFile['holders'][number]
export type Waiter = LockedFile['pending_requests'][number]
export type LateChange = NonNullable<Activity['late_changes']>[number]

/** Files with waiters first, otherwise in the order given. */
export function waitedForFirst(files: readonly LockedFile[]): LockedFile[] {
  const isWaitedFor = ({ pending_requests }: LockedFile) => pending_requests.length > 0
  return [...files.filter(isWaitedFor), ...files.filter((file) => !isWaitedFor(file))]
}

/** Relative to the roots, with the root's own name before it if there are several. */
export function shorten(path: string, roots: readonly string[]): string {
  const root = roots.find((each) => path.startsWith(`${each}/`))
  if (root === undefined) return path
  const relative = path.slice(root.length + 1)
  return roots.length === 1 ? relative : `${root.slice(root.lastIndexOf('/') + 1)}/${relative}`
}

export const shortenerOf =
  (roots: readonly string[]) =>
  (path: string): string =>
    shorten(path, roots)

/** How far back and up: `a/b/*.ts`, `**` over folders, a plain word anywhere in the path. */
export function matcherOf(pattern: string): (path: string) => boolean {
  const text = pattern.trim()
  if (text === '') return () => true
  if (!/[*?]/.test(text)) return (path) => path.toLowerCase().includes(text.toLowerCase())
  const source = text
    .replace(/\*{3,}/g, '**')
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((part) => globParts[part] ?? part.replace(/[\\^$.|+()[\]{}]/g, '\\$&'))
    .join('')
  const expression = new RegExp(`^${text.includes('/') ? '' : '(?:.*/)?'}${source}$`, 'i')
  return (path) => expression.test(path)
}

const globParts: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' }
