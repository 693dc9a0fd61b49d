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

/** The program that stays for all events; undefined before the first one, and after its end. */
let staying
let lastId = 0

function stay() {
  const child = spawn(command, [...args, '--stay'], { stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map()
  let rest = ''
  const end = () => {
    if (staying === own) staying = undefined
    for (const answer of waiting.values()) answer(undefined)
    waiting.clear()
  }
  child.on('error', end)
  child.on('close', end)
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n')
    rest = lines.pop()
    for (const line of lines) {
      const { id, answer } = parse(line)
      waiting.get(id)?.(answer)
      waiting.delete(id)
    }
    hold()
  })
  // It ends with its input: opencode waits for it only while it owes an answer.
  const hold = () => {
    for (const part of [child, child.stdin, child.stdout]) waiting.size > 0 ? part.ref?.() : part.unref?.()
  }
  hold()
  const own = {
    ask: (event) =>
      new Promise((resolve) => {
        lastId += 1
        waiting.set(lastId, resolve)
        hold()
        child.stdin.write(JSON.stringify({ id: lastId, event }) + '\\n')
      })
  }
  return own
}

/** The answer of the hook; empty if there is none: then the tool goes on. */
async function ask(event) {
  staying ??= stay()
  return (await staying.ask(event)) ?? (await askOnce(event))
}

/** Of a program for this event alone, if the one that stays has ended, or is of a version that does not stay. */
function askOnce(event) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    let text = ''
    child.on('error', () => resolve({}))
    child.stdin.on('error', () => {})
    child.stdout.on('data', (chunk) => (text += chunk))
    child.on('close', () => resolve(parse(text)))
    child.stdin.end(JSON.stringify(event))
  })
}

function parse(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
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
