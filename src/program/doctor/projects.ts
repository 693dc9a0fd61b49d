// Checks what the files of projects start: the entries and hooks of clients in each root.
import { existsSync } from 'node:fs'
import { mainPath } from '../../support/installation.ts'
import { clients, serverName, type Client } from '../setup/clients.ts'
import { isSame } from '../setup/entry.ts'
import { isServerHook } from '../setup/hook-forms.ts'
import { hookLocations } from '../setup/hooks.ts'
import { launcherOf, launcherWords } from '../setup/launcher.ts'
import { launcherText, withPlainLineEnds } from '../setup/launcher-text.ts'
import { serverLocation, sharedLaunch } from '../setup/options.ts'
import { isOurEntry } from '../setup/targets.ts'
import { asStarted, tryEntry } from '../setup/try-entry.ts'
import { readUserFile } from '../setup/user-file.ts'
import { thisUser } from '../setup/user.ts'
import { askHealth, findOtherTree, isServing } from '../background/probe-server.ts'
import { findings, type Finding } from './check.ts'

const { ok, warn } = findings('projects')

/** Less than a check may take. */
const timeoutMs = 4000

export async function checkProjects(roots: readonly string[]): Promise<Finding[]> {
  const found = await Promise.all(roots.map(checkProject))
  return found.flat()
}

async function checkProject(root: string): Promise<Finding[]> {
  const found: Finding[] = []
  for (const client of clients) {
    if (client.projectFile === undefined) continue
    const advice = `async-crud-mcp setup ${client.name} --project ${root}`
    try {
      found.push(...(await checkEntry(client, root, advice)), ...checkHooks(client, root, advice))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      found.push(warn(`${client.title}: ${reason}`, 'correct the file: the client cannot read it either'))
    }
  }
  return found
}

async function checkEntry(client: Client, root: string, advice: string): Promise<Finding[]> {
  const { file, target } = serverLocation(client, sharedLaunch(client, root), thisUser(), root)
  if (!existsSync(file)) return []
  const entry = target.current(target.parse(readUserFile(file).text.replace(/^\uFEFF/, '')))
  if (entry === undefined) return []
  if (!isOurEntry(entry))
    return [warn(`${client.title}: ${serverName} in ${file} is another server`, `rename it, then ${advice}`)]
  const { url, words } = readEntry(entry)
  if (url !== undefined) {
    const named = `${client.title}: ${file} names ${url}`
    const start = `async-crud-mcp daemon start --dir ${root}`
    if (!isServing(await askHealth(url, ''))) return [warn(`${named}, and no server answers there`, start)]
    const other = await findOtherTree(url, root)
    if (other === undefined) return [ok(`${named}, which answers`)]
    return [warn(`${named}, where a server serves ${other}`, `${start}, then ${advice} --transport http`)]
  }
  const reason = whyNotRun(words, client, root)
  if (reason !== undefined) return [warn(`${client.title}: ${file} ${reason}`, advice)]
  const [command = '', ...args] = words
  const silence = await tryEntry(asStarted({ transport: 'stdio', command, args }, client, root), root, timeoutMs)
  if (silence === undefined) return [ok(`${client.title}: what ${file} starts answers`)]
  return [warn(`${client.title}: what ${file} starts does not answer: ${silence}`, advice)]
}

/** A project is often another person's: nothing of it is run but the launcher as this version writes it, and this program. */
function whyNotRun(words: readonly string[], client: Client, root: string): string | undefined {
  if (words.includes(mainPath)) return undefined
  if (!launcherWords(client).every((word, index) => words[index] === word))
    return `starts "${words.join(' ')}", which is not of this installation; a bare name belongs to the first to register it`
  const launcher = launcherOf(root)
  if (!existsSync(launcher)) return `starts ${launcher}, which is gone`
  const isKnown = withPlainLineEnds(readUserFile(launcher).text) === launcherText
  return isKnown ? undefined : `starts ${launcher}, which is not the launcher of this version, so it was not run`
}

function checkHooks(client: Client, root: string, advice: string): Finding[] {
  const wrong = hookLocations(client.name, thisUser(), root).filter(({ what, file, target }) => {
    if (what === 'hook:version' || !existsSync(file)) return false
    const current = target.current(target.parse(readUserFile(file).text.replace(/^\uFEFF/, '')))
    return current !== undefined && !isSame(current, target.value) && !asksServer(current)
  })
  const [first] = wrong
  if (first === undefined) return []
  return [
    warn(`${client.title}: hooks in ${first.file} start another program than the launcher of the project`, advice)
  ]
}

/** A hook that starts nothing. */
function asksServer(group: unknown): boolean {
  const { hooks } = group as { readonly hooks?: unknown }
  return Array.isArray(hooks) && hooks.every((hook) => isServerHook(hook as Record<string, unknown>))
}

function readEntry(entry: unknown): { readonly url: string | undefined; readonly words: readonly string[] } {
  const { command, args, ...others } = entry as Record<string, unknown>
  const url = [others['url'], others['httpUrl'], others['serverUrl']].find((each) => typeof each === 'string')
  return { url, words: [command, args].flat().filter((word) => typeof word === 'string') }
}
