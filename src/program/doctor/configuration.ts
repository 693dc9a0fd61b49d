// Checks the configuration; the other checks use as much of it as can be read.
import { existsSync } from 'node:fs'
import { loadConfig, loadSettings, type Config } from '../../config/config.ts'
import { ConfigError } from '../../config/layer.ts'
import { findings, type Finding } from './check.ts'

export function findConfig(file: string | undefined): { settings: Config; findings: Finding[] } {
  const { ok, warn, fail } = findings('configuration')
  try {
    const { config, file: read, values, warnings } = loadSettings({ environment: process.env, configFile: file })
    const sets = [...values.values()].some(({ origin }) => origin.source === 'file')
    const isThere = read !== undefined && existsSync(read.path)
    const found = ok(
      isThere ? `${read.path} is valid${sets ? '' : ', and sets nothing'}` : 'no file: the defaults are used'
    )
    const others = warnings.map((warning) => warn(warning, 'async-crud-mcp config edit'))
    return { settings: config, findings: [found, ...others] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return {
      settings: loadConfig({}),
      findings: error.faults.map(({ message }) => fail(message, 'async-crud-mcp config edit'))
    }
  }
}
