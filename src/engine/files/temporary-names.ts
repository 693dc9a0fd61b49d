// The names of the server's own files below a root.
import { isRunning } from '../../support/process-identity.ts'
import { lazyCrypto } from '../../support/lazy-crypto.ts'

/** The folder below a root that holds the server's own files. */
export const ownFolder = '.async-crud-mcp'
/** How the name of a temporary file begins. */
export const temporaryPrefix = '.async-crud-mcp-'
export const temporarySuffix = '.tmp'

/** Start of this process: with the pid it distinguishes the temporary files of living processes from those of dead ones. */
const startedAt = Math.trunc(performance.timeOrigin).toString(36)

/** A name that no other file has. */
export function temporaryName(): string {
  return `${temporaryPrefix}${processName()}${temporarySuffix}`
}

/** Begins the names of this process. Random, since a process of another machine can have its id and start. */
let series: string | undefined
/** Of 32 bits: a name comes again only after four billion others. */
let given = 0

/** Part of a name that no other process gives, and this one only once. */
export function processName(): string {
  series ??= `${process.pid}-${startedAt}-${lazyCrypto().randomBytes(4).toString('hex')}`
  given = (given + 1) >>> 0
  return series + given.toString(16).padStart(8, '0')
}

export function isOfThisProcess(name: string): boolean {
  return name.includes(`-${process.pid}-${startedAt}-`)
}

/** True for the temporary file of a process that is gone. */
export function isLeftover(name: string): boolean {
  const match = /^\.async-crud-mcp-(\d+)-([0-9a-z]+)-[0-9a-f]{16}\.tmp$/.exec(name)
  if (match === null) return false
  const pid = Number(match[1])
  if (pid === process.pid) return match[2] !== startedAt
  return !isRunning(pid, null)
}
