// The answer of the hook, in the format of Claude Code, which Cursor, Codex and VS Code read too.
import type { NativeEdit } from './hook-input.ts'
import type { Lease, Standing } from './leases.ts'
import { timestamp } from '../../../support/timestamp.ts'
import { shortened } from '../../../support/cut-text.ts'

/** No output leaves the decision to the harness. */
export type Decision =
  | {
      readonly hookSpecificOutput: {
        readonly hookEventName: 'PreToolUse'
        readonly permissionDecision: 'deny'
        /** Shown to the model. */
        readonly permissionDecisionReason: string
      }
    }
  | {
      /** Shown to the user. */
      readonly systemMessage: string
    }

const maxHolders = 5
const maxNameLength = 200

export function deny(reason: string): Decision {
  return {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason }
  }
}

/** @param leases of other agents on the file, at least one */
export function denyLeased({ tool, instead }: NativeEdit, file: string, leases: readonly Lease[]): Decision {
  const holders = leases.slice(0, maxHolders).map(describe).join('; ')
  const more = leases.length > maxHolders ? ` and ${leases.length - maxHolders} more` : ''
  const wait = JSON.stringify({ filepaths: [file] })
  return deny(
    `${file} is leased by ${holders}${more}. ${tool} would change it under the holder, so it was not run. ` +
      `Use ${instead} of the async-crud-mcp server instead: it waits in the queue of this file and loses no change. ` +
      `To change the file yourself over a longer time, wait for it with lock_wait ${wait}. Other files can be changed meanwhile.`
  )
}

export interface Lacking {
  readonly file: string
  readonly lack: NonNullable<Standing['lack']>
}

/** @param lacking files that the agent may not change without an exclusive lease of its own, at least one */
export function denyUnleased(
  { tool, instead }: NativeEdit,
  lacking: readonly [Lacking, ...Lacking[]],
  agentId: string
): Decision {
  const [{ file, lack }] = lacking
  const who = `by agent ${quote(agentId)}`
  const state = lack === 'no lease' ? `is not leased ${who}` : `is leased ${who} for reading only (mode "shared")`
  const call = JSON.stringify({ filepaths: lacking.map((one) => one.file), agent_id: agentId })
  return deny(
    `${file} ${state}, and the server requires an exclusive lease for each change (locks.enforcement). ${tool} was not run. ` +
      `Take the lease with lock_try ${call} of the async-crud-mcp server, then ${tool} again, or use ${instead} with the same agent_id.`
  )
}

/** Names and notes are other agents' words: quoted and cut, so that they are not taken for words of this server. */
function describe({ agent_id, mode, note, expires_at }: Lease): string {
  const who = agent_id === null ? 'an agent without a name' : `agent ${quote(agent_id)}`
  const how = mode === 'shared' ? ' (shared)' : ''
  const why = note === undefined || note === '' ? '' : `, note ${quote(note)}`
  return `${who}${how}${why}${until(expires_at)}`
}

function until(expires: string | null): string {
  const time = Date.parse(expires ?? '')
  if (Number.isNaN(time)) return ''
  const seconds = Math.max(0, Math.ceil((time - Date.now()) / 1000))
  return `, until ${timestamp(time)} (${seconds} s from now)`
}

function quote(words: string): string {
  return JSON.stringify(shortened(words, maxNameLength))
}
