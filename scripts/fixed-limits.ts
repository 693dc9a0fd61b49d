// The limits that are constants of the source, for the page about settings.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed } from '../src/support/installation.ts'
import { wrap } from './wrap.ts'

const mebi = 1024 * 1024
const sources = installed('src')
const constant =
  /(?:^\/\*\* ([^\n]*) \*\/\n)?^(?:export )?const ((?:max|most)[A-Z]\w*|(?:\w+T|t)imeoutMs|(?:patience|linger|grace)Ms) = ([\d_.]+n?(?: \*\*? [\d_]+)*)$/gm
/** What a name ends with, and how its value is written. */
const units: readonly (readonly [end: RegExp, write: (value: number) => string])[] = [
  [/Ms$/, (value) => (value < 1000 ? `${value} ms` : `${value / 1000} s`)],
  [
    /Bytes$/,
    (value) =>
      value % 1024 > 0 ? `${write(value)} bytes` : value % mebi > 0 ? `${value / 1024} KiB` : `${value / mebi} MiB`
  ],
  [/Length$|Chars$/, (value) => `${write(value)} characters`]
]

/** A line for each file that has some. */
export function describeFixedLimits(): string[] {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  return files.toSorted().flatMap((name) => {
    const limits = [...readFileSync(join(sources, name), 'utf8').matchAll(constant)].map(describe)
    return limits.length === 0 ? [] : [wrap(`- \`${name.replaceAll('\\', '/')}\`: ${limits.join('; ')}`, '  ')]
  })
}

function describe([, comment, name = '', value = '']: RegExpMatchArray): string {
  const [, written] = units.find(([end]) => end.test(name)) ?? [undefined, write]
  const said = comment === undefined ? '' : ` (${comment.replace(/\.$/, '')})`
  return `\`${name}\` ${written(evaluate(value))}${said}`
}

/** A product or a power of numbers. */
function evaluate(text: string): number {
  const [first = 0, ...others] = text.split(/ \*\*? /).map((part) => Number(part.replaceAll(/[_n]/g, '')))
  if (text.includes('**')) return first ** (others[0] ?? 1)
  return others.reduce((product, other) => product * other, first)
}

function write(value: number): string {
  return value.toLocaleString('en')
}
