// What we put into the files of clients: the entry of our server, and the hook that runs the guard.
import type { Target } from './entry.ts'
import { serverName, type Client } from './clients.ts'
import { addToJsonArray, parseJson, putInJson, removeFromJson } from './json-text.ts'
import type { Data } from './text-edit.ts'
import { applyEdit } from './text-edit.ts'
import { appendTable, parseToml, removeTable } from './toml-text.ts'

/** Of the harness, in seconds; the guard itself gives up sooner. */
const hookTimeout = 10
const nativeEditTools = 'Edit|Write|MultiEdit|NotebookEdit'

/** The entry of our server among those of a client. */
export function createServerTarget({ format, container }: Client, value: Data): Target {
  const path = [container, serverName]
  const replaceTable = (text: string) => {
    const rest = removeTable(text, path)
    return applyEdit(rest, appendTable(rest, path, value))
  }
  return {
    value,
    parse: (text) => (format === 'toml' ? parseToml(text) : parseJson(text, format)),
    current: (data) => toData(data[container])[serverName],
    others(data) {
      const { [serverName]: _, ...servers } = toData(data[container])
      return replaceContainer(data, container, servers)
    },
    add: (text) => (format === 'toml' ? appendTable(text, path, value) : putInJson(text, path, value)),
    replace: (text) => (format === 'toml' ? replaceTable(text) : applyEdit(text, putInJson(text, path, value))),
    remove: (text) => (format === 'toml' ? removeTable(text, path) : removeFromJson(text, path))
  }
}

/** The guard among the hooks of Claude Code's settings (docs/guard.md). */
export function createHookTarget(command: string): Target {
  const path = ['hooks', 'PreToolUse']
  const value = { matcher: nativeEditTools, hooks: [{ type: 'command', command, timeout: hookTimeout }] }
  const groupsOf = (data: Data) => toList(toData(data['hooks'])['PreToolUse'])
  const add = (text: string) => addToJsonArray(text, path, value)
  const target: Target = {
    value,
    parse: (text) => parseJson(text, 'json'),
    current: (data) => groupsOf(data).find(runsOnlyGuard),
    others(data) {
      const groups = groupsOf(data).filter((group) => !runsOnlyGuard(group))
      const { PreToolUse: _, ...hooks } = toData(data['hooks'])
      return replaceContainer(data, 'hooks', { ...hooks, ...(groups.length > 0 && { PreToolUse: groups }) })
    },
    add,
    replace(text) {
      const rest = target.remove(text)
      return applyEdit(rest, add(rest))
    },
    remove(text) {
      const index = groupsOf(target.parse(text)).findIndex(runsOnlyGuard)
      return index === -1 ? text : target.remove(removeFromJson(text, [...path, index]))
    }
  }
  return target
}

/** Whether an entry under our name starts or names this server. Any other entry of that name is left alone. */
export function isOurEntry(entry: unknown): boolean {
  const { command, args, url } = toData(entry)
  if (typeof url === 'string') return /^http:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+\/mcp\/?$/.test(url)
  const words = [command, ...toList(args)].filter((word) => typeof word === 'string')
  return words.some(
    (word) => word.includes('async-crud-mcp') || /[\\/]dist[\\/](?:src[\\/]main\.js|main\.cjs)$/.test(word)
  )
}

/** A user made a group with other hooks beside the guard: it is not ours to remove. */
function runsOnlyGuard(group: unknown): boolean {
  const hooks = toList(toData(group)['hooks'])
  return hooks.length === 1 && hooks.every((hook) => isGuard(toData(hook)['command']))
}

function isGuard(command: unknown): boolean {
  return typeof command === 'string' && /(?:[\\/]main\.c?js["']?|async-crud-mcp)\s+guard\b/.test(command)
}

function replaceContainer(data: Data, name: string, value: Data): Data {
  const { [name]: before, ...rest } = data
  const isEmpty = Object.keys(value).length === 0 && (before === undefined || typeof before === 'object')
  return isEmpty ? rest : { ...rest, [name]: value }
}

function toData(value: unknown): Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Data) : {}
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
