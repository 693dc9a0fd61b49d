// The settings that the server runs with: flags override environment, file and defaults. Checked once and frozen.
import { statSync } from 'node:fs'
import { checkValues } from './check.ts'
import { findStrayVariables, readEnvironment, type Environment } from './environment.ts'
import { fields } from './fields.ts'
import { findConfigFile, readConfigFile, type ConfigFile } from './file.ts'
import { ConfigError, normalise, type Fault, type Given, type Layer } from './layer.ts'
import { checkMeaning } from './meaning.ts'
import { checkOutsideRoots } from './outside-roots.ts'
import type { Config } from '../../schemas/config.ts'

export type { Config } from '../../schemas/config.ts'

/** Some of the settings, by section. `loadConfig` checks the choices. */
export type PartialConfig = {
  [Section in keyof Config]?: { [Name in keyof Config[Section]]?: Unchecked<Config[Section][Name]> }
}
type Unchecked<Value> = Value extends string ? string : Value

/** The value that the command line gives one setting. */
export interface FlagValue {
  /** Such as `daemon.port`. */
  readonly setting: string
  /** Such as `--port`, for messages. */
  readonly flag: string
  readonly value: unknown
}

export interface SettingSources {
  readonly flags?: readonly FlagValue[]
  readonly environment: Environment
  /** Of `--config`; undefined if the file is to be found. */
  readonly configFile?: string | undefined
  /** By setting, if they differ from those of the schema. */
  readonly defaults?: Readonly<Record<string, unknown>>
}

export interface Settings {
  readonly config: Config
  /** Every setting by its dotted name, with its source. */
  readonly values: ReadonlyMap<string, Given>
  /** Undefined if no file is to be read. A file that no flag or variable names need not exist. */
  readonly file: ConfigFile | undefined
  /** What the operator should know, though the server runs. */
  readonly warnings: readonly string[]
}

/**
 * Merges and checks the settings from all their sources.
 * @throws ConfigError with every fault: where it is, what was expected, and the value
 */
export function loadSettings({ flags = [], environment, configFile, defaults = {} }: SettingSources): Settings {
  const file = findConfigFile(configFile, environment)
  const ofFile = file && readConfigFile(file)
  const layers = [ofFile, readEnvironment(environment), toLayer(flags)].filter((layer) => layer !== undefined)
  const values = new Map<string, Given>()
  for (const { name, schema } of fields.values()) {
    values.set(name, { value: structuredClone(defaults[name] ?? schema.default), origin: { source: 'default' } })
  }
  for (const layer of layers) for (const [name, given] of layer.values) values.set(name, given)
  const faults = layers.flatMap(findFaults)
  if (faults.length === 0) {
    faults.push(...checkMeaning(values), ...checkOutsideRoots(values, ofFile?.values.size === 0 ? undefined : file))
  }
  if (faults.length > 0) throw new ConfigError(faults)
  const warnings = [...findStrayVariables(environment), ...findWarnings(values, file)]
  return { config: toConfig(values), values, file, warnings }
}

/**
 * The settings of a service that runs inside another program: looks for no file.
 * @throws ConfigError
 */
export function loadConfig(partial: PartialConfig, environment: Environment = {}): Config {
  const flags = Object.entries(partial).flatMap(([section, settings]) =>
    Object.entries(settings).map(([key, value]) => ({ setting: `${section}.${key}`, flag: '', value }))
  )
  return loadSettings({ flags, environment: { ...environment, ASYNC_CRUD_MCP_CONFIG: '' } }).config
}

/** In the order of a file's lines. */
function findFaults({ values, faults }: Layer): Fault[] {
  const lineOf = ({ origin }: Fault) => (origin.source === 'file' ? origin.line : 0)
  return [...faults, ...checkValues(values)].sort((a, b) => lineOf(a) - lineOf(b))
}

function findWarnings(values: ReadonlyMap<string, Given>, file: ConfigFile | undefined): string[] {
  if (file !== undefined && values.get('daemon.token')?.origin.source === 'file' && isReadableByOthers(file.path))
    return [`${file.path} holds a token and can be read by other users: chmod 600 ${file.path}`]
  return []
}

function isReadableByOthers(path: string): boolean {
  if (process.platform === 'win32') return false
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o044) !== 0
}

function toLayer(flags: readonly FlagValue[]): Layer {
  const values = new Map<string, Given>()
  for (const { setting, flag, value } of flags) {
    const field = fields.get(setting)
    if (field === undefined) throw new Error(`${setting} is not a setting`)
    values.set(setting, { value: normalise(field, value), origin: { source: 'flag', flag } })
  }
  return { values, faults: [] }
}

function toConfig(values: ReadonlyMap<string, Given>): Config {
  const config: Record<string, Record<string, unknown>> = {}
  for (const { name, section, key } of fields.values()) {
    config[section] = { ...config[section], [key]: values.get(name)?.value }
  }
  // Checked source by source against the schema that the type comes from.
  return deepFreeze(config) as unknown as Config
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
