// The flags of the server, and the settings that they set. Their words and bounds are those of the schema.
import { resolve } from 'node:path'
import { toolSets } from '../../../schemas/tool-sets.ts'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { FlagValue, SettingSources } from '../../config/config.ts'
import { expectationOf, fieldOf } from '../../config/fields.ts'
import { normalise } from '../../config/layer.ts'
import { collect, numberBetween } from './command.ts'

/** As commander gives them, by their names in camel case. */
export type ServeFlags = Readonly<Record<string, unknown>>

export interface ServeFlag {
  /** Such as `--port <number>`. */
  readonly flag: string
  readonly setting: string
  /** If the flag needs other words than its setting. */
  readonly help?: string
  /** Bounds of a whole number. */
  readonly bounds?: readonly [min: number, max: number]
  /** From the value on the command line, and those before it, to the value of the setting. */
  readonly parse?: (value: string, previous?: string[]) => unknown
  /** What it means for another setting. */
  readonly implies?: { readonly setting: string; readonly value: unknown }
}

const megabyte = 1_048_576

export const serveFlags: readonly ServeFlag[] = [
  {
    flag: '--dir <folder>',
    setting: 'crud.base_directories',
    help: 'a root: only files below it are reachable (repeatable; default: those of the settings, otherwise the current folder)',
    parse: collect
  },
  {
    flag: '--known-as <folder>',
    setting: 'tree.known_as',
    help: 'another path of the first root, as a container has it (repeatable)',
    parse: (value, previous = []) => [...previous, resolve(value)]
  },
  { flag: '--transport <type>', setting: 'daemon.transport' },
  { flag: '--port <number>', setting: 'daemon.port', bounds: [1024, 65535] },
  { flag: '--host <address>', setting: 'daemon.host' },
  { flag: '--token <secret>', setting: 'daemon.token' },
  {
    flag: '--max-size <mb>',
    setting: 'crud.max_file_size_bytes',
    help: 'largest file that is read or written, in megabytes',
    bounds: [1, 100],
    parse: (value) => Number(value) * megabyte
  },
  { flag: '--timeout <seconds>', setting: 'crud.default_timeout', bounds: [1, 300] },
  {
    flag: '--tools <names>',
    setting: 'mcp.tools',
    help: `what MCP clients are offered: ${Object.keys(toolSets).join(', ')}, or names of tools, with commas between (default: all, which is without files)`,
    parse: (value, previous = []) => [...previous, ...value.split(',').map((name) => name.trim())]
  },
  {
    flag: '--etcd <endpoints>',
    setting: 'tree.etcd_endpoints',
    help: 'serve the tree together with other hosts, elected in this etcd (addresses with commas between)',
    parse: (value, previous = []) => [...previous, ...value.split(',').map((endpoint) => endpoint.trim())],
    implies: { setting: 'tree.coordinator', value: 'etcd' }
  },
  { flag: '--log-level <level>', setting: 'daemon.log_level' },
  {
    flag: '--log-file <path>',
    setting: 'daemon.log_file',
    help: 'a file for the log, outside the roots, or auto for one in the log folder of this user (default: standard error)',
    parse: (value) => (value === 'auto' ? value : resolve(value))
  }
]

export function addServeFlags(command: Command): Command {
  for (const serveFlag of serveFlags) command.addOption(toOption(serveFlag))
  command.addOption(
    new Option('--stdio', 'the same as --transport stdio, for clients that take --transport for themselves').conflicts(
      'transport'
    )
  )
  return addConfigFlag(command)
}

export function addConfigFlag(command: Command): Command {
  return command.option(
    '--config <file>',
    'the configuration file (default: ASYNC_CRUD_MCP_CONFIG, otherwise config.json in the configuration folder of this user)'
  )
}

/** Where the settings of a command with these flags come from. */
export function toSources(flags: ServeFlags): SettingSources {
  const values = serveFlags.flatMap(({ flag, setting, implies }): FlagValue[] => {
    const name = toOption({ flag, setting }).attributeName()
    if (flags[name] === undefined) return []
    const given = flag.split(' ')[0] as string
    return [
      { setting, flag: given, value: flags[name] },
      ...(implies === undefined ? [] : [{ ...implies, flag: given }])
    ]
  })
  if (flags['stdio'] === true) values.push({ setting: 'daemon.transport', flag: '--stdio', value: 'stdio' })
  return { flags: values, environment: process.env, configFile: flags['config'] as string | undefined }
}

function toOption(serveFlag: ServeFlag): Option {
  const { flag, setting, bounds, parse } = serveFlag
  const check = bounds === undefined ? choiceOrText(setting) : numberBetween(...bounds)
  const convert = (value: string, previous?: string[]): unknown => {
    const checked = check(value)
    return parse === undefined ? checked : parse(value, previous)
  }
  // A cast, since commander wants the type of the values.
  return new Option(flag, describe(serveFlag)).argParser(convert as (value: string, previous: unknown) => unknown)
}

/** The first sentence of the setting's description, what the flag takes, and the default. */
function describe({ setting, help, bounds, parse }: ServeFlag): string {
  const { description, enum: choices, default: value } = fieldOf(setting).schema
  const [sentence = ''] = /^.*?\.(?= |$)/.exec(description) ?? []
  const words = help ?? sentence.slice(0, -1).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
  const notes: string[] = []
  if (choices !== undefined) notes.push(choices.join(', '))
  if (bounds !== undefined) notes.push(bounds.join('-'))
  if (typeof value === 'number') notes.push(`default: ${parse === undefined ? value : value / megabyte}`)
  else if (typeof value === 'string' && value !== '') notes.push(`default: ${value}`)
  return notes.length === 0 ? words : `${words} (${notes.join('; ')})`
}

function choiceOrText(setting: string): (value: string) => unknown {
  const field = fieldOf(setting)
  return (given) => {
    const value = normalise(field, given)
    const choices = field.schema.enum
    if (choices === undefined || choices.includes(String(value))) return value
    throw new InvalidArgumentError(`Expected ${expectationOf(field.schema)}.`)
  }
}
