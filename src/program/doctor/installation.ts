// Checks what was set up: the service, and the clients.
import { existsSync } from 'node:fs'
import { appName } from '../../support/user-paths.ts'
import { userNamespaceObstacle } from '../service/user-namespaces.ts'
import { isServicePlatform } from '../service/choose-manager.ts'
import { servicesOfUser } from '../service/user.ts'
import { clients, serverName, type Client } from '../setup/clients.ts'
import { serverLocation } from '../setup/options.ts'
import { isOurEntry } from '../setup/targets.ts'
import { readUserFile } from '../setup/user-file.ts'
import { thisUser } from '../setup/user.ts'
import { findings, type Finding } from './check.ts'

export async function checkServices(): Promise<Finding[]> {
  const { ok, warn } = findings('service')
  if (!isServicePlatform(process.platform)) return [ok(`none is known for ${process.platform}`)]
  const { installer, manager } = servicesOfUser()
  const names = installer.names()
  if (names.length === 0) return [ok('none is installed')]
  const found = await Promise.all(
    names.map(async (name) => {
      try {
        const { isRunning, state } = await manager.status(name)
        return isRunning ? ok(`${name}: ${state}`) : warn(`${name}: ${state}`, start(name))
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        return warn(`${name} is installed, but ${manager.title} does not answer: ${reason}`, manager.byHand(name))
      }
    })
  )
  const obstacle = process.platform === 'linux' ? userNamespaceObstacle() : undefined
  const confined = names.filter((name) => readUserFile(manager.fileOf(name), 'latin1').text.includes('PrivateUsers='))
  if (obstacle === undefined || confined.length === 0) return found
  return [
    ...found,
    warn(`${confined.join(', ')}: confined, which ${obstacle} prevents`, 'bootstrap install --no-confinement')
  ]
}

function start(name: string): string {
  return `async-crud-mcp bootstrap start${name === appName ? '' : ` --name ${name.slice(appName.length + 1)}`}`
}

export function checkClients(): Finding[] {
  const user = thisUser()
  const { ok } = findings('clients')
  const found = clients.filter((client) => client.traces(user).some((path) => existsSync(path))).map(checkClient)
  return found.length === 0 ? [ok('no client is in use here')] : found
}

function checkClient(client: Client): Finding {
  const { ok, warn } = findings('clients')
  const { file, target } = serverLocation(client, { transport: 'stdio', command: '', args: [] }, thisUser())
  const setUp = `async-crud-mcp setup ${client.name}`
  try {
    const entry = target.current(target.parse(readUserFile(file).text.replace(/^\uFEFF/, '')))
    if (entry === undefined) return ok(`${client.title}: not set up for all projects (${setUp})`)
    if (!isOurEntry(entry))
      return warn(`${client.title}: ${serverName} in ${file} is another server`, `rename it, then ${setUp}`)
    const missing = programsOf(entry).find((path) => !existsSync(path))
    if (missing !== undefined) return warn(`${client.title}: ${file} starts ${missing}, which is gone`, setUp)
    return ok(`${client.title}: set up in ${file}`)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return warn(
      `${client.title}: ${reason.startsWith(file) ? reason : `${file} ${reason}`}`,
      'correct the file: the client cannot read it either'
    )
  }
}

/** Node and main.js, if the entry names them by absolute paths. */
function programsOf(entry: unknown): string[] {
  const { command, args } = entry as { command?: unknown; args?: unknown }
  const words: unknown[] = [command, ...(Array.isArray(args) ? args.slice(0, 1) : [])]
  return words.filter((word): word is string => typeof word === 'string' && /^(?:\/|[A-Za-z]:\\)/.test(word))
}
