// Asks the server what taking changes back would do, and to do it.
import type { UndoOutput } from '../../schemas/undo.ts'
import { call } from '../server.ts'
import { parseUnified, type Hunk } from '../unified.ts'
import { blameOf, inTurn } from '../versions.ts'
import type { Choice } from './choice.ts'

export type Plan = UndoOutput
export type PlannedFile = UndoOutput['files'][number]

/** What the person has allowed. */
export interface Terms {
  /** The changes without a conflict, if there are others. */
  readonly partial: boolean
  /** Changes by commands that another may have made. */
  readonly include_uncertain: boolean
}

export const planInput = (choice: Choice, { include_uncertain }: Terms) => ({
  ...choice,
  include_uncertain,
  partial: true,
  dry_run: true,
  diff_format: 'unified'
})

/** Only changes that the plan knows: what has come since stays. */
export const undoInput = (choice: Choice, { timestamp }: Plan, terms: Terms) => ({
  ...choice,
  until: choice.until ?? timestamp,
  ...terms,
  agent_id: 'board'
})

export const planUndo = (choice: Choice, terms: Terms): Promise<Plan> => call('async_undo', planInput(choice, terms))

export const undo = (choice: Choice, plan: Plan, terms: Terms): Promise<Plan> =>
  call('async_undo', undoInput(choice, plan, terms))

/** Undefined if the file is too large or no text. */
export function hunksOf({ diff }: PlannedFile): readonly Hunk[] | undefined {
  return diff?.content === undefined ? undefined : parseUnified(diff.content)
}

export interface Stay {
  readonly agent: string
  readonly lines: number
}

/** Whose lines are in the file and stay. Undefined if that cannot be told. */
export async function staysIn(file: PlannedFile): Promise<readonly Stay[] | undefined> {
  const hunks = hunksOf(file)
  if (file.previous_hash === null || file.hash === null || hunks === undefined) return undefined
  const { hash, ranges } = await inTurn(() => blameOf(file.path))
  if (hash !== file.previous_hash) return undefined
  const removed = new Set(hunks.flatMap(({ lines }) => lines).map((line) => line.kind === 'removed' && line.oldNumber))
  const stays = new Map<string, number>()
  for (const { agent_id, start_line, end_line } of ranges) {
    if (agent_id === null) continue
    for (let line = start_line; line <= end_line; line += 1)
      if (!removed.has(line)) stays.set(agent_id, (stays.get(agent_id) ?? 0) + 1)
  }
  return Array.from(stays, ([agent, lines]) => ({ agent, lines }))
}

export interface Task {
  readonly name: string
  readonly changes: number
  /** Of its latest change. */
  readonly at: number
  /** Its shell command, if it was one. */
  readonly command: string | undefined
}

/** The change sets of an agent, or of all, among the latest changes: the latest first. */
export async function tasksOf(agent: string | undefined): Promise<readonly Task[]> {
  const input = { limit: 100, ...(agent !== undefined && { by_agent: agent }) }
  const { versions } = await call<{ versions: readonly TaskChange[] }>('async_history', input)
  const tasks = new Map<string, Task>()
  for (const { change_set: name, at, command } of versions) {
    if (name === undefined) continue
    const task = tasks.get(name) ?? { name, changes: 0, at: Date.parse(at), command }
    tasks.set(name, { ...task, changes: task.changes + 1 })
  }
  return [...tasks.values()]
}

interface TaskChange {
  readonly change_set?: string
  readonly command?: string
  readonly at: string
}
