// From the user's options to the place in a file and the entry that belongs there.
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { ClientName } from './client-names.ts'
import { clients, pathOf, type Client, type Launch, type StdioLaunch, type UserEnvironment } from './clients.ts'
import { mainPath } from '../../support/installation.ts'
import { launcherWords } from './launcher.ts'
import { nodePath } from './own-program.ts'
import type { EntryLocation } from './plan.ts'
import { createServerTarget } from './targets.ts'
import { hookLocationOfRecord } from './hooks.ts'
import { persistenceLocation, persistenceRecord } from './persistence.ts'

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
export function stdioLaunch(roots: readonly string[]): StdioLaunch {
  const args = [mainPath, '--transport', 'stdio', ...roots.flatMap((root) => ['--dir', root])]
  return { transport: 'stdio', command: nodePath(), args }
}

/** For a file that a team shares: the launcher of the project. @param roots absolute; without any, the launcher names the project */
export function sharedLaunch(client: Client, project: string, roots: readonly string[] = []): StdioLaunch {
  const [command, ...args] = launcherWords(client)
  const dirs = roots.flatMap((root) => ['--dir', withinProject(root, project)])
  return { transport: 'stdio', command, args: [...args, '--stdio', ...dirs] }
}

/** The same launch for a client whose own edit tools get hooks: it offers only what these lack. */
export function besideHooks(launch: Launch): Launch {
  if (launch.transport === 'stdio') return { ...launch, args: [...launch.args, '--tools', 'beside'] }
  const { url } = launch
  const isChosen = /[?&]tools=/.test(url)
  return isChosen ? launch : { ...launch, url: `${url}${url.includes('?') ? '&' : '?'}tools=beside` }
}

/** A folder of the project as seen from there, as the launcher takes it: that is right on every machine. */
function withinProject(root: string, project: string): string {
  const path = relative(resolve(project), root)
  if (isAbsolute(path) || path.split(sep)[0] === '..') return root
  return `./${path.replaceAll(sep, '/')}`
}

/** @throws Error if the client has no such file */
export function serverLocation(client: Client, launch: Launch, user: UserEnvironment, project?: string): EntryLocation {
  if (project !== undefined && client.projectFile === undefined)
    throw new Error(`${client.title} has no configuration for one project: pass --dir <folder> in place of --project`)
  const isOfProject = project !== undefined && client.projectFile !== undefined
  return {
    what: client.name,
    file: isOfProject ? pathOf(user).join(resolve(project), ...(client.projectFile ?? [])) : client.userFile(user),
    target: createServerTarget(client, client.entry(launch)),
    ...(client.refusesMark === true && { refusesMark: true }),
    newMode: isOfProject ? projectMode : userMode
  }
}

export function locationOfRecord(what: string, file: string): EntryLocation | undefined {
  const client = clients.find(({ name }) => name === (what as ClientName))
  if (what === persistenceRecord) return persistenceLocation(file)
  if (client === undefined) return hookLocationOfRecord(what, file)
  return { what, file, target: createServerTarget(client, {}), newMode: userMode }
}
