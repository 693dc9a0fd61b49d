// What follows the names of benchmarks on the command line: how much of it to run.
import { parseArgs } from 'node:util'

export interface Options {
  /** Behind the name: `replay=<repository>`. */
  readonly argument?: string | undefined
  /** How long one figure is measured, or a whole load. */
  readonly seconds?: number | undefined
  readonly agents?: number | undefined
  readonly files?: number | undefined
  /** Of targets: one after the other, each with a column of its own. */
  readonly runs?: number | undefined
  /** Of a history that is replayed. */
  readonly commits?: number | undefined
}

export interface Wanted {
  readonly name: string
  readonly options: Options
}

const flags = ['seconds', 'agents', 'files', 'commits', 'runs'] as const

/**
 * @param known the names of all benchmarks
 * @param usual those wanted if none is named
 * @throws on an unknown name or flag, and on a value that is no number above 0
 */
export function parseArguments(
  args: readonly string[],
  known: readonly string[],
  usual: readonly string[] = known
): Wanted[] {
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }]))
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const numbers = Object.fromEntries(
    flags.flatMap((flag) => {
      const value = values[flag]
      if (value === undefined) return []
      if (!(Number(value) > 0)) throw new Error(`--${flag} takes a number above 0, not ${JSON.stringify(value)}`)
      return [[flag, Number(value)]]
    })
  )
  return (positionals.length > 0 ? positionals : usual).map((word) => {
    const [name, argument] = word.split('=', 2) as [string, string?]
    if (!known.includes(name)) throw new Error(`unknown benchmark: ${name}. Known: ${known.join(', ')}`)
    return { name, options: { ...numbers, argument } }
  })
}
