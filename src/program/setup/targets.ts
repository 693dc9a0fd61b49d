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
  const path = [container, serverName]
  const replaceTable = (text: string) => {
    const rest = removeTable(text, path)
    return applyEdit(rest, appendTable(rest, path, value))
  }
  return {
    value,
    parse: (text) => (format === 'toml' ? parseToml(text) : parseJson(text, format)),
    current: (data) => toFields(data[container])[serverName],
    others(data) {
      const { [serverName]: _, ...servers } = toFields(data[container])
      return replaceContainer(data, container, servers)
    },
    add: (text) => (format === 'toml' ? appendTable(text, path, value) : putInJson(text, path, value)),
    replace: (text) => (format === 'toml' ? replaceTable(text) : applyEdit(text, putInJson(text, path, value))),
    remove: (text) => (format === 'toml' ? removeTable(text, path) : removeFromJson(text, path))
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
      const { [event]: _, ...hooks } = toFields(data['hooks'])
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

/** A property that a file must have, whatever its value. */
export function createPropertyTarget(name: string, value: unknown): Target {
  return {
    value,
    parse: (text) => parseJson(text, 'json'),
    current: (data) => data[name],
    others(data) {
      const { [name]: _, ...others } = data
      return others
    },
    add: (text) => putInJson(text, [name], value),
    replace: (text) => text,
    remove: (text) => removeFromJson(text, [name])
  }
}

/** A setting in a section of the configuration file. */
export function createSettingTarget(section: string, name: string, value: unknown): Target {
  const path = [section, name]
  return {
    value,
    parse: (text) => parseJson(text, 'json'),
    current: (data) => toFields(data[section])[name],
    others(data) {
      const { [name]: _, ...settings } = toFields(data[section])
      return replaceContainer(data, section, settings)
    },
    add: (text) => putInJson(text, path, value),
    replace: (text) => applyEdit(text, putInJson(text, path, value)),
    remove: (text) => removeFromJson(text, path)
  }
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
  const { [name]: before, ...rest } = data
  const isEmpty = Object.keys(value).length === 0 && (before === undefined || typeof before === 'object')
  return isEmpty ? rest : { ...rest, [name]: value }
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
