// The output of `config show`: every setting, its value, and its source.
import type { Settings } from '../../config/config.ts'
import { fieldOf } from '../../config/fields.ts'
import { describeOrigin, type Origin } from '../../config/layer.ts'

interface ShownSetting {
  readonly value: unknown
  readonly origin: Origin
  readonly live: boolean
}

/** For scripts: settings by their dotted names. */
export function toShown({ values, file }: Settings): {
  file: string | null
  settings: Readonly<Record<string, ShownSetting>>
} {
  const settings = [...values].map(([name, { value, origin }]): [string, ShownSetting] => {
    const { schema } = fieldOf(name)
    const isHidden = schema.writeOnly === true && value !== ''
    return [name, { value: isHidden ? '********' : value, origin, live: schema['x-live'] === true }]
  })
  return { file: file?.path ?? null, settings: Object.fromEntries(settings) }
}

/** For people: one line each, in columns. */
export function toTable(settings: Settings): string {
  const rows = Object.entries(toShown(settings).settings).map(([name, { value, origin }]) => [
    name,
    JSON.stringify(value),
    origin.source === 'file' ? `${origin.file}:${origin.line}` : describeOrigin(origin)
  ])
  const widths = [0, 1].map((column) => Math.min(40, Math.max(...rows.map((row) => row[column]?.length ?? 0))))
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}
