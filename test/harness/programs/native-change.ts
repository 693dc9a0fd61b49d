// An edit by the own tool of a harness, which tells the server before and after it.
import { join } from 'node:path'
import type { Answer } from '../../fixtures/clients.ts'
import type { Text } from './text.ts'
import type { World } from './world.ts'

/** As Claude Code does it: the session has read the file, announces, writes, and tells. */
export async function native(world: World, path: string, lines: Text): Promise<void> {
  const session = `${world.mark}s`
  const agent = `claude-code/${session}`
  const absolute = join(world.root, path)
  const content = lines.join('')
  const before = world.model.at(path)
  const hook = async (name: string, fields: object) => {
    const event = {
      session_id: session,
      cwd: world.root,
      hook_event_name: name,
      tool_use_id: `t${world.count}`,
      ...fields
    }
    return world.call('hooks/claude-code', event)
  }
  if (before !== undefined) await world.call('async_read', { path, agent_id: agent })
  const tool = { tool_name: 'Write', tool_input: { file_path: absolute, content } }
  const refusalOf = (answer: Answer) => answer['hookSpecificOutput']?.permissionDecisionReason as unknown
  let refusal = refusalOf(await hook('PreToolUse', tool))
  // What others have removed since the session saw it is brought back by a second call.
  if (refusal !== undefined && before === undefined) refusal = refusalOf(await hook('PreToolUse', tool))
  world.expect('the hook', refusal, undefined)
  world.put(path, content)
  await hook('PostToolUse', { ...tool, tool_response: {} })
  const outcome = before === undefined ? world.model.write(agent, path, lines) : world.model.restore(agent, path, lines)
  world.apply(outcome.is === 'made' ? outcome.steps : [], agent, undefined)
}
