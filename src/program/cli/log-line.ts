// One line of the log for human readers.
import { parseFields } from '../../support/json-fields.ts'
import { paint } from './output.ts'

const levels: Readonly<Record<number, readonly [name: string, style: Parameters<typeof paint>[0]]>> = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'gray'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red']
}
const wellKnown = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err'])

/** Time, level, message, then the other fields of the line; a line that is not JSON stays as it is. */
export function toReadableLine(line: string, stream: NodeJS.WriteStream = process.stdout): string {
  const entry = parseFields(line)
  if (entry === undefined) return line
  const [name, style] = levels[Number(entry['level'])] ?? ['', 'white']
  const time = typeof entry['time'] === 'number' ? new Date(entry['time']).toLocaleTimeString('sv') : '--:--:--'
  const error = entry['err'] as { message?: unknown } | undefined
  const fields = Object.entries(entry)
    .filter(([key]) => !wellKnown.has(key))
    .map(([key, value]) => `${key}=${toText(value)}`)
  const parts = [
    paint('gray', time, stream),
    paint(style, name.padEnd(5), stream),
    visible(toText(entry['msg'])),
    ...(error?.message === undefined ? [] : [paint('red', visible(`(${toText(error.message)})`), stream)]),
    ...(fields.length === 0 ? [] : [paint('gray', visible(fields.join(' ')), stream)])
  ]
  return parts.join(' ')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** A log may contain what agents have said of themselves: it must not control a terminal. */
function visible(text: string): string {
  // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, (character) => JSON.stringify(character).slice(1, -1))
}
