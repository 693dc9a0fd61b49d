// `config`: writes, shows, edits and checks the settings.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import { loadSettings } from '../../config/config.ts'
import { createExample } from '../../config/example.ts'
import { fileVariable, findConfigFile, type ConfigFile } from '../../config/file.ts'
import { ConfigError, type Fault } from '../../config/layer.ts'
import { findRootAbove } from '../../config/outside-roots.ts'
import { createPublishedSchema } from '../../config/published-schema.ts'
import { isErrno } from '../../support/errno.ts'
import { installed } from '../../support/installation.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { collect, createCommand, orFail } from './command.ts'
import { toShown, toTable } from './config-show.ts'
import { addConfigFlag, addServeFlags, toSources, type ServeFlags } from './serve-flags.ts'

interface FileFlags {
  readonly config?: string
  readonly json?: boolean
}

interface InitFlags extends FileFlags {
  readonly dir?: string[]
  readonly force?: boolean
}

export function createConfigCommand(): Command {
  return createCommand('config')
    .description('the settings: write, show, edit and check them (docs/configuration.md)')
    .addCommand(
      addConfigFlag(createCommand('init'))
        .description(
          'writes a configuration file with these roots, and every other setting as a comment with its default and meaning'
        )
        .option('--dir <folder>', 'a root to begin with (repeatable)', collect)
        .option('--force', 'replaces a file that exists')
        .action(orFail(init))
    )
    .addCommand(
      addServeFlags(createCommand('show'))
        .description(
          'prints every setting and where its value comes from, with these flags as with those of the server'
        )
        .option('--json', 'for scripts')
        .action(orFail(show))
    )
    .addCommand(
      addConfigFlag(createCommand('edit'))
        .description(
          'opens the configuration file in $VISUAL or $EDITOR, writing it first if there is none, and checks it'
        )
        .action(orFail(edit))
    )
    .addCommand(
      addConfigFlag(createCommand('validate'))
        .description('checks a configuration file, or else what the server would start with: exit code 0 or 1')
        .argument('[file]', 'the file to check')
        .option('--json', 'for scripts')
        .action(orFail(validate))
    )
    .addCommand(
      addConfigFlag(createCommand('path'))
        .description('prints which configuration file is read')
        .option('--json', 'for scripts')
        .action(orFail(printPath))
    )
    .addCommand(
      createCommand('schema')
        .description('prints the JSON Schema of a configuration file')
        .action(() => print(createPublishedSchema()))
    )
}

async function init(_flags: InitFlags, command: Command): Promise<void> {
  const { config, dir = [], force = false } = command.optsWithGlobals<InitFlags>()
  const { path } = requireFile(config)
  createConfigFile(path, dir, force)
  process.stdout.write(`${path}\n`)
}

/** @throws Error if the file exists and may not be replaced, or if agents could change it */
export function createConfigFile(path: string, roots: readonly string[], isForced: boolean, port?: number): void {
  const folders = roots.map((root) => resolve(root))
  const above = findRootAbove(path, folders)
  if (above !== undefined)
    throw new Error(
      `${path} lies inside the root ${above}, where every agent could change it: name another file with --config`
    )
  const chosen = {
    ...(folders.length > 0 && { 'crud.base_directories': folders }),
    ...(port !== undefined && { 'daemon.port': port })
  }
  const schemaAddress = pathToFileURL(installed('openapi/config.schema.json')).href
  writeConfigFile(path, createExample(chosen, schemaAddress), isForced)
}

/**
 * Only this user may read it: it can contain a token.
 * @param isForced true to replace an existing file, whole or not at all
 * @throws Error if the file exists and may not be replaced, or cannot be written
 */
function writeConfigFile(path: string, text: string, isForced: boolean): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (isForced) return replaceFile(path, text)
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    throw new Error(`${path} exists: change it with async-crud-mcp config edit, or replace it with --force`, {
      cause: error
    })
  }
}

async function show(_flags: ServeFlags, command: Command): Promise<void> {
  const flags = command.optsWithGlobals<ServeFlags>()
  const settings = loadSettings(toSources(flags))
  if (flags['json'] === true) print(toShown(settings))
  else process.stdout.write(`${toTable(settings)}\n`)
  for (const warning of settings.warnings) process.stderr.write(`async-crud-mcp: ${warning}\n`)
}

async function edit(_flags: FileFlags, command: Command): Promise<void> {
  const { path } = requireFile(command.optsWithGlobals<FileFlags>().config)
  if (!existsSync(path)) createConfigFile(path, [], false)
  await openEditor(path)
  const faults = findFaults(path, {})
  if (faults.length === 0) {
    process.stdout.write(`${path} is valid; a running server uses it, or says in its log what needs a restart\n`)
    return
  }
  const lines = faults.map(({ message }) => message)
  throw new Error(
    [...lines, `${path} is kept as you left it, and not used until it is valid: run config edit again`].join('\n')
  )
}

async function validate(named: string | undefined, _flags: FileFlags, command: Command): Promise<void> {
  const { config, json = false } = command.optsWithGlobals<FileFlags>()
  const file = named ?? config
  // A file that is named is checked by itself; else everything that a server would start with.
  const environment = named === undefined ? process.env : {}
  const path = findConfigFile(file, environment)?.path ?? null
  const faults = findFaults(file, environment)
  if (json) print({ valid: faults.length === 0, file: path, faults })
  else if (faults.length === 0) process.stdout.write(`${describeFile(path)}: valid\n`)
  else for (const { message } of faults) process.stderr.write(`async-crud-mcp: ${message}\n`)
  if (faults.length > 0) process.exitCode = 1
}

function describeFile(path: string | null): string {
  if (path === null) return 'the defaults and the environment, without a configuration file'
  return existsSync(path) ? path : `${path} does not exist: the defaults and the environment are used`
}

function findFaults(configFile: string | undefined, environment: NodeJS.ProcessEnv): readonly Fault[] {
  try {
    loadSettings({ configFile, environment })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

async function printPath(_flags: FileFlags, command: Command): Promise<void> {
  const { config, json = false } = command.optsWithGlobals<FileFlags>()
  const { path } = requireFile(config)
  if (json) print({ path, exists: existsSync(path) })
  else process.stdout.write(`${path}\n`)
}

function requireFile(flag: string | undefined): ConfigFile {
  const file = findConfigFile(flag, process.env)
  if (file === undefined) throw new Error(`${fileVariable} is empty, so no file is read: name one with --config <file>`)
  return file
}

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** @throws Error if the editor cannot be started or reports a failure */
async function openEditor(file: string): Promise<void> {
  const { env, platform } = process
  const editor = env['VISUAL'] || env['EDITOR'] || (platform === 'win32' ? 'notepad' : 'vi')
  // Through a shell, since the variable may contain arguments: "code --wait".
  const child =
    platform === 'win32'
      ? spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit' })
      : spawn('sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0)
    throw new Error(`the editor (${editor}) ended with ${code ?? signal}; set VISUAL or EDITOR to another one`)
}
