// Texts to be pasted into the session of an agent: what has happened, and which call helps. Pure.
import { someOf } from '../../src/support/cut-text.ts'
import type { Activity, Holder } from '../model.ts'

type Command = Activity['refused_commands'][number]
type Circle = Activity['refused_circles'][number]['waits']

export function holderMessage(path: string, { acquired_at, note }: Holder, waiters: readonly string[]): string {
  const what = note === undefined ? '' : ` (${note})`
  return `You have held ${path}${what} since ${acquired_at}, and ${someOf(waiters, maxListed)} ${waiters.length === 1 ? 'waits' : 'wait'} for it. Finish your change and call lock_release with filepaths ${JSON.stringify([path])}; if you still need it, call lock_renew.`
}

export function circleMessage(waits: Circle, short: (path: string) => string): string {
  const [refused] = waits
  const circle = waits.map(({ agent_id, waits_for }) => `${agent_id} waits for ${short(waits_for)}`).join(', ')
  return `Your request for ${short(refused?.waits_for ?? '')} was refused (DEADLOCK), since nobody in this circle could have gone on: ${circle}. Call lock_release_all, then ask for all the files that you need in one call of lock_wait.`
}

export function rivalMessage(path: string, late: string, first: string, times: number): string {
  return `You (${late}) and ${first} keep changing ${path} at the same time: ${times} changes of the last minutes came too late and were refused. Before the next one, call lock_wait with filepaths ${JSON.stringify([path])}, read the file, change it and call lock_release; or send changes with on_contention "merge".`
}

export function discardMessage(agent: string, { command, others }: Command): string {
  return `${agent} wanted to run ${command}, which would discard uncommitted lines of ${someOf(others, maxListed)}, and was refused. Commit your work (async-crud-mcp land --agent <your agent id>), or say that it may go.`
}

const maxListed = 3
