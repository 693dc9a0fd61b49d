// What the state file says of a running server (DUAL 4.1), and whether it can be believed.
import { networkInterfaces } from 'node:os'
import { parseFields } from '../../support/json-fields.ts'

export interface ServerState {
  /** Of this format. */
  readonly version: '1.0.0'
  readonly transport: 'http' | 'dual' | 'stdio'
  /** Null if no process of the tree listens. */
  readonly port: number | null
  /** To connect to: an address of this machine. */
  readonly host: string
  readonly path: '/mcp'
  /** `http://<host>:<port>/mcp`; the other routes are beside /mcp. Null without a port. */
  readonly url: string | null
  readonly pid: number
  /** ISO 8601. */
  readonly started_at: string
  /** Tells the process from a later one with the same pid; null if the system does not say. Not in DUAL. */
  readonly process_start: string | null
  readonly project: {
    readonly name: string
    /** The first root, absolute. */
    readonly root: string
    /** All roots, each of which has this state. Not in DUAL. */
    readonly roots: readonly string[]
    /** Other paths of the first root; absent if there are none. Not in DUAL. */
    readonly known_as?: readonly string[]
  }
}

const clientHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

type Unchecked<Shape> = { readonly [Name in keyof Shape]?: unknown }

/** Undefined for anything but a state that a server of this version writes, on this machine. */
export function parseServerState(text: string): ServerState | undefined {
  const state: Unchecked<ServerState> = parseFields(text) ?? {}
  const { version, transport, port, host, path, url, pid, started_at, process_start, project } = state
  const { name, root, roots, known_as = [] } = (project ?? {}) as Unchecked<ServerState['project']>
  const isState =
    version === '1.0.0' &&
    (transport === 'stdio' ? port === null : transport === 'http' || transport === 'dual') &&
    (port === null || isIntegerBetween(port, 1, 65_535)) &&
    typeof host === 'string' &&
    isThisMachine(host) &&
    path === '/mcp' &&
    url === urlOf(host, port as number | null) &&
    isIntegerBetween(pid, 1, 2 ** 31) &&
    typeof started_at === 'string' &&
    !Number.isNaN(Date.parse(started_at)) &&
    (process_start === null || typeof process_start === 'string') &&
    typeof name === 'string' &&
    typeof root === 'string' &&
    [roots, known_as].every((list) => Array.isArray(list) && list.every((each) => typeof each === 'string'))
  return isState ? (state as ServerState) : undefined
}

/** An address to connect to, for one that was bound: loopback for a wildcard. */
export function toClientHost(bound: string): string {
  return clientHosts[bound] ?? bound
}

export function urlOf(host: string, port: number | null): string | null {
  return port === null ? null : `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`
}

/** A user who can write a state file must not lead its readers, and their tokens, to another machine. */
function isThisMachine(host: string): boolean {
  if (host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)) return true
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host))
}

function isIntegerBetween(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
}
