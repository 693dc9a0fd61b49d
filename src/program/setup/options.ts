// From the user's options to the place in a file and the entry that belongs there.
import { resolve } from 'node:path'
import {
  clients,
  formerName,
  pathOf,
  type Client,
  type ClientName,
  type Launch,
  type UserEnvironment
} from './clients.ts'
import { mainPath } from '../../support/installation.ts'
import { nodePath } from './own-program.ts'
import type { EntryLocation } from './plan.ts'
import { createServerTarget } from './targets.ts'
import { hookLocationOfRecord } from './hooks.ts'

/** Permissions of a user's own file: it may come to contain secrets. */
const userMode = 0o600
const projectMode = 0o666

/** @throws Error that lists the clients there are */
export function findClient(name: string): Client {
  const client = clients.find((client) => client.name === name)
  if (client !== undefined) return client
  throw new Error(`no client is called ${name}; known: ${clients.map(({ name }) => name).join(', ')}`)
}

/** @param roots absolute */
export function stdioLaunch(roots: readonly string[]): Launch {
  const args = [mainPath, '--transport', 'stdio', ...roots.flatMap((root) => ['--dir', root])]
  return { transport: 'stdio', command: nodePath(), args }
}

/** For a file that a team shares: it names no path of this machine, and the package by its name. */
export function sharedLaunch({ projectWord = '.' }: Client): Launch {
  return { transport: 'stdio', command: 'npx', args: ['-y', 'async-crud-mcp', '--stdio', '--dir', projectWord] }
}

/** @throws Error if the client has no such file */
export function serverLocation(client: Client, launch: Launch, user: UserEnvironment, project?: string): EntryLocation {
  if (project !== undefined && client.projectFile === undefined)
    throw new Error(`${client.title} has no configuration for one project: leave out --project`)
  const isOfProject = project !== undefined && client.projectFile !== undefined
  return {
    what: client.name,
    file: isOfProject ? pathOf(user).join(resolve(project), ...(client.projectFile ?? [])) : client.userFile(user),
    ...serverTargets(client, client.entry(launch)),
    newMode: isOfProject ? projectMode : userMode
  }
}

export function locationOfRecord(what: string, file: string): EntryLocation | undefined {
  const client = clients.find(({ name }) => name === (what as ClientName))
  if (client === undefined) return hookLocationOfRecord(what, file)
  return { what, file, ...serverTargets(client, {}), newMode: userMode }
}

function serverTargets(client: Client, value: Record<string, unknown>) {
  return { target: createServerTarget(client, value), former: createServerTarget(client, value, formerName) }
}
