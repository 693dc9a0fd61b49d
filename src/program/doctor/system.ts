// Checks the system: Node, ports, limits, folders.
import { access, constants, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { askHealth } from '../background/probe-server.ts'
import { candidatePorts } from '../../support/ports.ts'
import { isErrno } from '../../support/errno.ts'
import { findings, type Finding } from './check.ts'

const leastNode = [20, 19]
const leastOpenFiles = 1024

export function checkNode(version = process.versions.node): Finding[] {
  const { ok, fail } = findings('node')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = leastNode
  if (major < leastMajor || (major === leastMajor && minor < leastMinor))
    return [fail(`Node ${version}`, `install Node ${leastNode.join('.')} or newer (22 or 24)`)]
  return [ok(`Node ${version}`)]
}

/** By binding for a moment, as the server does. */
export async function checkPort(host: string, port: number | null, token: string): Promise<Finding[]> {
  const { ok, warn, fail } = findings('port')
  const [preferred = 0, ...others] = candidatePorts(port)
  const reason = await tryPort(host, preferred)
  if (reason === undefined) return [ok(`${preferred} is free`)]
  if (reason !== 'EADDRINUSE')
    return [fail(`${host} cannot be bound (${reason})`, 'set daemon.host to an address of this machine')]
  const {
    state,
    version,
    degraded = []
  } = await askHealth(`http://${host.includes(':') ? `[${host}]` : host}:${preferred}/mcp`, token)
  if (degraded.length > 0)
    return degraded.map((what) => warn(`the server at ${preferred} is degraded: ${what}`, 'its log has the cause'))
  if (state === 'healthy' || state === 'degraded')
    return [ok(`${preferred} is taken by an async-crud-mcp server (${version})`)]
  if (state === 'refused')
    return [ok(`${preferred} is taken by a server that asks for another token, which may be an async-crud-mcp server`)]
  for (const other of others) {
    if ((await tryPort(host, other)) === undefined)
      return [
        warn(
          `${preferred} is taken by another program; a server without --port takes ${other}`,
          'clients over HTTP need the right address: see discover, or set daemon.port'
        )
      ]
  }
  return [fail(`${preferred} and all ports after it are taken`, 'set daemon.port to a free one')]
}

async function tryPort(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

export async function checkOpenFiles(limitsPath = '/proc/self/limits'): Promise<Finding[]> {
  const { ok, warn } = findings('open files')
  const limits = await readFile(limitsPath, 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1]
  if (soft === undefined) return []
  if (soft !== 'unlimited' && Number(soft) < leastOpenFiles)
    return [warn(`at most ${soft}`, `ulimit -n ${leastOpenFiles}, or more`)]
  return [ok(`at most ${soft}`)]
}

/** @param name of the check. Makes nothing: if the folder is missing, the one above it counts */
export async function checkFolder(name: string, folder: string): Promise<Finding[]> {
  const { ok, fail } = findings(name)
  for (let here = folder; ; here = dirname(here)) {
    try {
      await access(here, constants.W_OK | constants.X_OK)
      return [ok(here === folder ? `${folder} can be written` : `${folder} can be created`)]
    } catch (error) {
      if (isErrno(error, 'ENOENT') && here !== dirname(here)) continue
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      return [
        fail(
          `${folder} cannot be written (${reason} at ${here})`,
          'give this user the rights, or set the folders of the platform elsewhere'
        )
      ]
    }
  }
}
