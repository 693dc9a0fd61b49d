// From the user's options to the place in a file and the entry that belongs there.
import { join, resolve } from 'node:path'
import { clients, pathOf, type Client, type ClientName, type Launch, type UserEnvironment } from './clients.ts'
import { mainPath } from '../../support/installation.ts'
import { nodePath } from './own-program.ts'
import type { EntryLocation } from './plan.ts'
import { createHookTarget, createServerTarget } from './targets.ts'

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

/** @throws Error if the client has no such file */
export function serverLocation(client: Client, launch: Launch, user: UserEnvironment, project?: string): EntryLocation {
  if (project !== undefined && client.projectFile === undefined)
    throw new Error(`${client.title} has no configuration for one project: leave out --project`)
  const isOfProject = project !== undefined && client.projectFile !== undefined
  return {
    what: client.name,
    file: isOfProject ? pathOf(user).join(resolve(project), ...(client.projectFile ?? [])) : client.userFile(user),
    target: createServerTarget(client, client.entry(launch)),
    newMode: isOfProject ? projectMode : userMode
  }
}

/** The guard in the settings that Claude Code reads in this project. */
export function hookLocation(project: string): EntryLocation {
  const words = [nodePath(), mainPath].map(quote)
  return {
    what: 'guard',
    file: join(resolve(project), '.claude', 'settings.json'),
    target: createHookTarget([...words, 'guard'].join(' ')),
    newMode: projectMode
  }
}

export function locationOfRecord(what: string, file: string): EntryLocation | undefined {
  const client = clients.find(({ name }) => name === (what as ClientName))
  if (what === 'guard') return { ...hookLocation('.'), file }
  if (client === undefined) return undefined
  return { what, file, target: createServerTarget(client, {}), newMode: userMode }
}

/** For the shell that runs hooks; a word that needs no quotes gets none. */
function quote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
