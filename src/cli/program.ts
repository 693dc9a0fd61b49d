// The server's command line: flags to settings, then serve.
import { Command, InvalidArgumentError, Option } from 'commander'
import { Config } from '../../schemas/config.ts'
import { loadConfig, type PartialConfig } from '../config.ts'
import { version } from '../version.ts'
import { createGuardCommand } from './guard.ts'

interface Flags {
  dir?: string[]
  host?: string
  port?: number
  maxSize?: number
  timeout?: number
  logLevel?: string
  token?: string
  transport?: string
}

const { transport, log_level } = Config.properties.daemon.properties
const transports = transport['enum'] as string[]
const levels = log_level['enum'] as string[]

export const program = new Command('async-crud-mcp')
  .description(
    'Serves the files of one working tree to many agents at once, over MCP, REST and JSON-RPC, without losing an update.'
  )
  .version(version)
  .option('--dir <folder>', 'a root: only files below it are reachable (repeatable, at least one)', collect)
  .addOption(
    new Option(
      '--transport <type>',
      'how clients reach it: over HTTP, over stdin and stdout, or both (default: http)'
    ).choices(transports)
  )
  .option(
    '--port <number>',
    'HTTP port, 1024-65535 (default: 8720, or the next free one up to 8819)',
    numberBetween(1024, 65535)
  )
  .option('--host <address>', 'address to bind (default: 127.0.0.1)')
  .option('--token <secret>', 'bearer token that requests must carry (needed for a --host beyond loopback)')
  .option('--max-size <mb>', 'largest file and request in megabytes, 1-100 (default: 10)', numberBetween(1, 100))
  .option(
    '--timeout <seconds>',
    'how long a call waits for a lock unless it says otherwise, 1-300 (default: 30)',
    numberBetween(1, 300)
  )
  .addOption(
    new Option('--log-level <level>', 'least level that is logged, on stderr (default: info)')
      .choices(levels)
      .argParser(toLevel)
  )
  .addHelpText(
    'after',
    '\nIn a clone: npm start -- --dir <folder> --port 8720\nThen: claude mcp add --transport http async-crud http://127.0.0.1:8720/mcp'
  )
  .allowExcessArguments(false)
  .showSuggestionAfterError()
  .configureOutput({
    outputError: (text, write) =>
      write(
        text
          .replace(/\n\((.*)\)/, ' ($1)')
          .replace(
            /^error: (too many arguments).*/,
            '$1: every folder needs a --dir, and npm needs -- before the flags (npm start -- --dir <folder>).'
          )
          .replace(/^(?:error: )?/, 'async-crud-mcp: ')
      )
  })
  .action(run)
  .addCommand(createGuardCommand())

async function run(flags: Flags): Promise<void> {
  try {
    const fromFlags = toConfig(flags)
    const config = loadConfig(fromFlags, process.env)
    if (config.crud.base_directories.length === 0) throw new Error('no root: pass --dir <folder>')
    requireTokenBeyondLoopback(config.daemon.host, config.daemon.token)
    const isPortExplicit = flags.port !== undefined || process.env['ASYNC_CRUD_MCP_DAEMON__PORT'] !== undefined
    // Loaded only now: --help and a wrong flag are answered without loading the service.
    const { serve } = await import('./serve.ts')
    await serve({ config, isPortExplicit })
  } catch (error) {
    process.stderr.write(`async-crud-mcp: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

function toConfig({ dir, host, port, maxSize, timeout, logLevel, token, transport }: Flags): PartialConfig {
  return {
    daemon: {
      ...(transport !== undefined && { transport }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
      ...(token !== undefined && { token }),
      ...(logLevel !== undefined && { log_level: logLevel })
    },
    crud: {
      ...(dir !== undefined && { base_directories: dir }),
      ...(maxSize !== undefined && { max_file_size_bytes: maxSize * 1_048_576 }),
      ...(timeout !== undefined && { default_timeout: timeout })
    }
  }
}

function requireTokenBeyondLoopback(host: string, token: string): void {
  const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
  if (!isLoopback && token === '')
    throw new Error(`--host ${host} is reachable from other machines: pass --token <secret> with it`)
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}

function numberBetween(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (value.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
  }
}

function toLevel(value: string): string {
  const level = value.toLowerCase()
  if (levels.includes(level)) return level
  throw new InvalidArgumentError(`Expected one of ${levels.join(', ')}.`)
}
