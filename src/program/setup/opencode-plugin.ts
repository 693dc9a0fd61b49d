// The plugin that gives opencode hooks: it has none of its own, and runs plugins in its process.

/** @param program words that start this program; undefined for the plugin of a project, which starts the launcher beside it */
export function opencodePlugin(program: readonly string[] | undefined): string {
  const words = (program ?? ['node']).map((word) => JSON.stringify(word))
  const launcher = `fileURLToPath(new URL('../../.mcp/async-crud-mcp.cjs', import.meta.url))`
  const command = [...words, ...(program === undefined ? [launcher] : []), '"hook"', '"opencode"'].join(', ')
  return `// Puts opencode's own edits and commands into the queues of async-crud-mcp. Written by "async-crud-mcp setup opencode".
import { spawn } from 'node:child_process'
${program === undefined ? "import { fileURLToPath } from 'node:url'\n" : ''}
const [command, ...args] = [${command}]

/** The answer of the hook; empty if there is none: then the tool goes on. */
function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    let text = ''
    child.on('error', () => resolve({}))
    child.stdin.on('error', () => {})
    child.stdout.on('data', (chunk) => (text += chunk))
    child.on('close', () => {
      try {
        resolve(JSON.parse(text))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}

export const AsyncCrudMcp = async ({ directory }) => ({
  'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
    if (!['edit', 'write', 'patch', 'apply_patch', 'bash'].includes(tool)) return
    const { refusal } = await ask({ event: 'tool.execute.before', tool, sessionID, callID, directory, args })
    if (refusal !== undefined) throw new Error(refusal)
  },
  'tool.execute.after': async ({ tool, sessionID, callID, args }, output) => {
    const event = { event: 'tool.execute.after', tool, sessionID, callID, directory, args, output: output.output }
    const { context } = await ask(event)
    if (context !== undefined) output.output += \`\\n\\n\${context}\`
  },
  event: async ({ event }) => {
    const sessionID = event.properties?.info?.id ?? event.properties?.sessionID
    if (event.type === 'session.deleted' && sessionID !== undefined) await ask({ event: event.type, sessionID, directory })
  }
})
`
}
