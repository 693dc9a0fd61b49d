// The flags of the server, and the settings they stand for.
import { InvalidArgumentError, Option, type Command } from 'commander'
import { Config } from '../../schemas/config.ts'
import type { PartialConfig } from '../config.ts'
import { collect, numberBetween } from './command.ts'

export interface ServeFlags {
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

export function addServeFlags(command: Command): Command {
  return command
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
}

export function toConfig({ dir, host, port, maxSize, timeout, logLevel, token, transport }: ServeFlags): PartialConfig {
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

function toLevel(value: string): string {
  const level = value.toLowerCase()
  if (levels.includes(level)) return level
  throw new InvalidArgumentError(`Expected one of ${levels.join(', ')}.`)
}
