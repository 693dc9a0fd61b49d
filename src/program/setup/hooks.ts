// The hooks of each harness that has some, as they go into its file (docs/native-tools.md).
import { join, resolve, win32 } from 'node:path'
import { mainPath } from '../../support/installation.ts'
import { isPlain, quoteWord } from '../../support/shell/quote-word.ts'
import type { ClientName } from './client-names.ts'
import { opencodeFolder, pathOf, type UserEnvironment } from './clients.ts'
import { hookOf, type HookForm } from './hook-forms.ts'
import { hookSets } from './hook-sets.ts'
import { launcherCommand } from './launcher.ts'
import { opencodePlugin } from './opencode-plugin.ts'
import { nodePath } from './own-program.ts'
import type { EntryLocation } from './plan.ts'
import { createFileTarget, createHookTarget, createJsonTarget } from './targets.ts'

const userMode = 0o600
const projectMode = 0o666

export function takesHooks(name: ClientName): boolean {
  return name === 'opencode' || hookSets[name] !== undefined
}

/**
 * Where hooks go; empty for a client that has none.
 * @param project a file of the team: it names no path of this machine
 * @param hookForm of those around tools
 */
export function hookLocations(
  name: ClientName,
  user: UserEnvironment,
  project?: string,
  hookForm: HookForm = { type: 'program' }
): EntryLocation[] {
  const newMode = project === undefined ? userMode : projectMode
  if (name === 'opencode') {
    const folder = project === undefined ? opencodeFolder(user) : join(resolve(project), '.opencode')
    const target = createFileTarget(opencodePlugin(project === undefined ? ownProgram() : undefined))
    return [{ what: 'hook:opencode', file: pathOf(user).join(folder, 'plugin', 'async-crud-mcp.js'), target, newMode }]
  }
  const set = hookSets[name]
  if (set === undefined) return []
  const { events, form, userFile, projectFile, refusesMark = false, timeout } = set
  const file = project === undefined ? userFile(user) : join(resolve(project), ...projectFile)
  const words = ['hook', name]
  const command =
    project === undefined ? hookCommand([...ownProgram(), ...words], user.platform) : launcherCommand(words)
  const locations = Object.entries(events).map(([event, matcher]) => {
    const match = matcher === undefined ? {} : { matcher }
    const hook = hookOf(name, event, hookForm, { type: 'command', command, timeout })
    const value = form === 'plain' ? { command, ...match, timeout } : { ...match, hooks: [hook] }
    return { what: `hook:${event}`, file, target: createHookTarget(event, value, formatOf(name)), refusesMark, newMode }
  })
  if (form === 'groups') return locations
  return [{ what: 'hook:version', file, target: createJsonTarget(['version'], 1), newMode }, ...locations]
}

/** What an earlier setup has written, to take it back. */
export function hookLocationOfRecord(what: string, file: string): EntryLocation | undefined {
  if (!what.startsWith('hook:')) return undefined
  const event = what.slice('hook:'.length)
  const target =
    event === 'opencode'
      ? createFileTarget('')
      : event === 'version'
        ? createJsonTarget(['version'], 1)
        : createHookTarget(event, {}, 'jsonc')
  return { what, file, target, newMode: userMode }
}

/** Gemini CLI strips comments from its settings. */
function formatOf(name: ClientName): 'json' | 'jsonc' {
  return name === 'gemini' ? 'jsonc' : 'json'
}

const ownProgram = (): readonly string[] => [nodePath(), mainPath]

/**
 * A line for whichever shell runs hooks. On Windows that is Git Bash or PowerShell (Claude Code), PowerShell (Gemini CLI) or cmd (Codex):
 * to the second a quoted first word is no command, the first loses backslashes, and the third takes a slash in the first word for a
 * flag. So the first word is a name, which PATH finds, and slashes separate folders.
 */
export function hookCommand([first = '', ...words]: readonly string[], platform: NodeJS.Platform): string {
  if (platform !== 'win32') return [first, ...words].map(quoteWord).join(' ')
  const name = win32.basename(first).replace(/\.exe$/i, '')
  const others = words.map((word) => word.replaceAll('\\', '/'))
  return [name, ...others.map((word) => (isPlain(word) ? word : `"${word}"`))].join(' ')
}
