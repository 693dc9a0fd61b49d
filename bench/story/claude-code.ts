// The story played by Claude Code itself, with a stand-in for its model: what the forms in native-tools.ts are compared with.
import { startModelStandIn, type ModelRequest, type ToolUse } from '../../test/fixtures/model-stand-in.ts'
import { claudeEnvironment, makeClientHome, runClient } from '../../test/fixtures/real-clients.ts'
import { nativeAgent, writtenForm } from './native-agent.ts'
import { begin, type Given, type Played } from './play.ts'

const tools = ['Read', 'Edit', 'Glob', 'Bash']

/** @param program its path */
export async function playWithClaudeCode({ owner, fieldCount }: Given, program: string): Promise<Played> {
  const { tree, tell, play } = begin(owner, fieldCount)
  const turns = createTurns()
  const { url: modelUrl } = await startModelStandIn(owner, turns.script)
  const args = ['-p', 'go', '--allowedTools', ...tools, '--permission-mode', 'acceptEdits']
  const task = { args, env: claudeEnvironment(modelUrl) }
  const { variables } = makeClientHome(owner)
  const ended = runClient(owner, program, task, { folder: tree.root, variables })
  const playing = play(
    nativeAgent(tree, async (call) => {
      const [before, after] = [await turns.asked(), await turns.say(call)]
      const answer = after.answers.at(-1) ?? ''
      tell(writtenForm(call), answer + notesOf(after).slice(notesOf(before).length))
      return answer
    })
  )
  const played = await Promise.race([playing, ended])
  if (typeof played === 'string') throw new Error(`${program} has ended early: ${played}`)
  void turns.say('done')
  await ended
  return played
}

/** What Claude Code tells its model beside the answers, and before the first of them. */
function notesOf({ body: { messages } }: ModelRequest): string {
  return (messages as { readonly role: string; readonly content: unknown }[])
    .map(({ role, content }) => (role === 'system' && typeof content === 'string' ? content : ''))
    .join('')
}

/** Hands the turns of the model to an agent that waits for the answer of each. */
function createTurns() {
  let take: (next: ToolUse | string) => void
  let arrived: (request: ModelRequest) => void
  let request: Promise<ModelRequest>
  const expect = () => (request = new Promise((resolve) => (arrived = resolve)))
  void expect()
  return {
    script: (_: readonly string[], asked: ModelRequest) =>
      new Promise<ToolUse | string>((resolve) => {
        take = resolve
        arrived(asked)
      }),
    /** Resolves once the model is to say something. */
    asked: () => request,
    /** Resolves once the model is asked again. */
    say(next: ToolUse | string): Promise<ModelRequest> {
      const following = expect()
      take(next)
      return following
    }
  }
}
