// What we put into the files of clients: the entry of our server, and hooks.
import { toFields } from '../../support/json-fields.ts'
import type { Target } from './entry.ts'
import { serverName, type Client } from './clients.ts'
import { isServerHook } from './hook-forms.ts'
import { addToJsonArray, parseJson, putInJson, removeFromJson } from './json-text.ts'
import type { Data } from './text-edit.ts'
import { applyEdit } from './text-edit.ts'
import { appendTable, parseToml, removeTable } from './toml-text.ts'

/** The entry of our server among those of a client. */
export function createServerTarget({ format, container }: Client, value: Data): Target {
  const path = [container, serverName] as const
  if (format !== 'toml') return createJsonTarget(path, value, format)
  const remove = (text: string) => removeTable(text, path)
  return {
    ...placeAt(path),
    value,
    parse: parseToml,
    add: (text) => appendTable(text, path, value),
    replace(text) {
      const rest = remove(text)
      return applyEdit(rest, appendTable(rest, path, value))
    },
    remove
  }
}

/** A value at this path in a file of JSON. */
export function createJsonTarget(path: Path, value: unknown, format: 'json' | 'jsonc' = 'json'): Target {
  const add = (text: string) => putInJson(text, path, value)
  return {
    ...placeAt(path),
    value,
    parse: (text) => parseJson(text, format),
    add,
    replace: (text) => applyEdit(text, add(text)),
    remove: (text) => removeFromJson(text, path)
  }
}

/** Names of members: one, or that of a container and one in it. */
type Path = readonly [name: string] | readonly [container: string, name: string]

function placeAt([first, name]: Path): Pick<Target, 'current' | 'others'> {
  if (name === undefined) return { current: (data) => data[first], others: (data) => without(data, first) }
  return {
    current: (data) => toFields(data[first])[name],
    others: (data) => replaceContainer(data, first, without(toFields(data[first]), name))
  }
}

/** The groups of hooks of one event, in the form of Claude Code, Codex and Gemini CLI, or the hooks themselves, in that of Cursor. */
export function createHookTarget(event: string, value: Data, format: 'json' | 'jsonc' = 'json'): Target {
  const path = ['hooks', event]
  const groupsOf = (data: Data) => toList(toFields(data['hooks'])[event])
  const add = (text: string) => addToJsonArray(text, path, value)
  const target: Target = {
    value,
    parse: (text) => parseJson(text, format),
    current: (data) => groupsOf(data).find(runsOnlyOurs),
    others(data) {
      const groups = groupsOf(data).filter((group) => !runsOnlyOurs(group))
      const hooks = without(toFields(data['hooks']), event)
      return replaceContainer(data, 'hooks', { ...hooks, ...(groups.length > 0 && { [event]: groups }) })
    },
    add,
    replace(text) {
      const rest = target.remove(text)
      return applyEdit(rest, add(rest))
    },
    remove(text) {
      const index = groupsOf(target.parse(text)).findIndex(runsOnlyOurs)
      return index === -1 ? text : target.remove(removeFromJson(text, [...path, index]))
    }
  }
  return target
}

/** A file that is ours as a whole. */
export function createFileTarget(content: string): Target {
  return {
    value: content,
    parse: (text) => ({ text }),
    current: ({ text }) => (text === '' ? undefined : text),
    others: () => ({}),
    add: () => ({ offset: 0, length: 0, content }),
    replace: () => content,
    remove: () => ''
  }
}

/** Whether an entry under our name starts or names this server. Any other entry of that name is left alone. */
export function isOurEntry(entry: unknown): boolean {
  const { command, args, url, httpUrl, serverUrl } = toFields(entry)
  const address = url ?? httpUrl ?? serverUrl
  if (typeof address === 'string')
    return /^http:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+\/mcp\/?(?:\?tools=[\w,]*)?$/.test(address)
  const words = [command, ...toList(command), ...toList(args)].filter((word) => typeof word === 'string')
  return words.some((word) => word.includes('async-crud-mcp') || /[\\/]dist[\\/]main\.cjs$/.test(word))
}

/** A user made a group with other hooks beside ours: it is not ours to remove. Cursor has no groups. */
function runsOnlyOurs(group: unknown): boolean {
  const { hooks, command } = toFields(group)
  if (hooks === undefined) return isOurCommand(command)
  return toList(hooks).length === 1 && toList(hooks).map(toFields).every(isOurHook)
}

/** By the program of an installation, by its name, or by the launcher of a project. */
const ourCommand = /(?:[\\/]main\.c?js["']?|async-crud-mcp(?:\.cjs["']?)?|async-crud-mcp\.cjs'.*")\s+(?:guard|hook)\b/

function isOurHook(hook: Data): boolean {
  return isOurCommand(hook['command']) || isServerHook(hook)
}

function isOurCommand(command: unknown): boolean {
  return typeof command === 'string' && ourCommand.test(command)
}

function replaceContainer(data: Data, name: string, value: Data): Data {
  const before = data[name]
  const isEmpty = Object.keys(value).length === 0 && (before === undefined || typeof before === 'object')
  return isEmpty ? without(data, name) : { ...data, [name]: value }
}

function without(data: Data, name: string): Data {
  const { [name]: _, ...others } = data
  return others
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
