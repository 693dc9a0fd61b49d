// A service of this user: the server of one configuration, started at login.
import { appName } from '../../support/user-paths.ts'

export interface ServiceDefinition {
  /** As the service manager knows it. */
  readonly name: string
  readonly description: string
  /** Program and arguments, all absolute. */
  readonly command: readonly [string, ...string[]]
  readonly environment: Readonly<Record<string, string>>
  /** The only folders that the service can write, absolute. */
  readonly writable: readonly string[]
  /** Gets the output from before its log begins. */
  readonly outputFile: string
  /** Whether the service manager may confine it (systemd only). */
  readonly isConfined: boolean
}

/** @throws Error for a name that some service file would have to escape */
export function serviceName(name: string | undefined): string {
  if (name === undefined) return appName
  if (!/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name))
    throw new Error(`--name ${JSON.stringify(name)}: 1 to 40 lower-case letters, digits and hyphens`)
  return `${appName}-${name}`
}

/** No format of service files has a safe place for these. @throws Error */
export function refuseControlCharacters(...texts: readonly string[]): void {
  // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
  const bad = texts.find((text) => /[\u0000-\u001F\u007F\uFFFE\uFFFF]/.test(text))
  if (bad !== undefined) throw new Error(`${JSON.stringify(bad)} has control characters, which a service cannot have`)
}
