// The settings of a running server, some of which may change while it runs.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../schemas/config.ts'
import { fields, type Field } from './fields.ts'

export interface SettingChange {
  /** Such as `daemon.log_level`. */
  readonly setting: string
  /** The new value; undefined if it is a secret. */
  readonly value: unknown
  readonly needsRestart: boolean
}

export interface LiveSettings {
  /** The current settings. Replaced as a whole: read it anew for every call and request. */
  readonly current: Config
  /** Applies what may change while the server runs. @returns what has changed since the last time */
  update(next: Config): SettingChange[]
}

export function createLiveSettings(first: Config): LiveSettings {
  let current = first
  let loaded = first
  return {
    get current() {
      return current
    },
    update(next) {
      const changes: SettingChange[] = []
      for (const field of fields.values()) {
        const value = valueOf(next, field)
        if (isDeepStrictEqual(value, valueOf(loaded, field))) continue
        const isLive = field.schema['x-live'] === true
        if (isLive) current = withValue(current, field, value)
        // Not reported if it is set back to the value that the server was started with.
        if (!isLive && isDeepStrictEqual(value, valueOf(current, field))) continue
        const shown = field.schema.writeOnly === true ? undefined : value
        changes.push({ setting: field.name, value: shown, needsRestart: !isLive })
      }
      loaded = next
      return changes
    }
  }
}

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function valueOf(config: Config, { section, key }: Field): unknown {
  return (config as unknown as Sections)[section]?.[key]
}

function withValue(config: Config, { section, key }: Field, value: unknown): Config {
  const sections = config as unknown as Sections
  const changed = Object.freeze({ ...sections[section], [key]: value })
  return Object.freeze({ ...config, [section]: changed })
}
