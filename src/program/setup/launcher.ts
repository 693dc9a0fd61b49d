// How the files of a project start this program: by the launcher in it, which names no path of this machine.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { clients, type Client } from './clients.ts'
import { hookSets } from './hook-sets.ts'
import type { Journal } from './journal.ts'
import { isAsWritten, launcherText, withPlainLineEnds } from './launcher-text.ts'
import { planAddition, type EntryLocation, type Plan } from './plan.ts'
import { createFileTarget } from './targets.ts'
import { readUserFile, removeUserFile } from './user-file.ts'
import { readText } from '../../support/read-text.ts'

const folder = '.mcp'
const name = 'async-crud-mcp.cjs'
const projectMode = 0o666

/** In the journal. */
export const launcherRecord = 'launcher'

export const launcherOf = (project: string): string => join(resolve(project), folder, name)

/**
 * Finds the launcher from a folder of the project or below it. It has no character that a shell changes within double quotes, since
 * one line must do for sh, PowerShell and cmd; and no clients agree on the folder in which they start hooks.
 */
const search = `const f=require('fs'),p=require('path');for(let d=process.env.CLAUDE_PROJECT_DIR||process.cwd(),l;d!==l;l=d,d=p.dirname(d)){const m=p.join(d,'${folder}','${name}');if(f.existsSync(m)){process.argv.splice(1,0,m);require(m);break}}`

/** @returns the words that start the launcher, for the entry of a client */
export function launcherWords({ projectWord }: Pick<Client, 'projectWord'>): [command: string, ...args: string[]] {
  return projectWord === undefined ? ['node', '-e', search, '--'] : ['node', `${projectWord}/${folder}/${name}`]
}

/** A line for any shell. Outside of the project it does nothing. */
export function launcherCommand(words: readonly string[]): string {
  return `node -e "${search}" ${words.join(' ')}`
}

/** Writes the launcher; one that was edited stays, unless `isForced`. */
export function planLauncher(project: string, journal: Journal, isForced: boolean): Plan {
  const file = launcherOf(project)
  const { bytes, text } = readUserFile(file)
  if (bytes !== undefined && !isForced && text.trim() !== '' && !isAsWritten(text)) {
    const note = `${file}: kept, since it was edited; --force replaces it`
    return { file, before: text, after: text, isChange: false, note, apply() {} }
  }
  const whole = createFileTarget(launcherText)
  const target = { ...whole, current: ({ text: now }: Record<string, unknown>) => withPlainEnds(now) }
  const location: EntryLocation = { what: launcherRecord, file, target, newMode: projectMode }
  return planAddition(location, journal, () => true)
}

/** Removes the launcher if it is as it was written, and no file of the project names it when these plans are made; undefined if it stays. */
export function planLauncherRemoval(file: string, journal: Journal, plans: readonly Plan[]): Plan | undefined {
  const launcher = readUserFile(file)
  if (launcher.bytes === undefined || !isAsWritten(launcher.text)) return undefined
  const project = resolve(file, '..', '..')
  const textAfter = (path: string) => {
    const plan = plans.find((each) => each.file === path)
    return plan !== undefined ? plan.after : existsSync(path) ? readText(path) : undefined
  }
  if (projectFiles(project).some((path) => textAfter(path)?.includes(name) === true)) return undefined
  return {
    file,
    before: launcher.text,
    after: undefined,
    isChange: true,
    apply() {
      removeUserFile(launcher)
      journal.forgetEdit(launcherRecord, file)
    }
  }
}

/** Every file of a project that setup can write. */
function projectFiles(project: string): string[] {
  const entries = clients.flatMap(({ projectFile }) => (projectFile === undefined ? [] : [projectFile]))
  const hooks = Object.values(hookSets).map(({ projectFile }) => projectFile)
  return [...entries, ...hooks, ['.opencode', 'plugin', 'async-crud-mcp.js']].map((path) => join(project, ...path))
}

function withPlainEnds(text: unknown): unknown {
  return typeof text === 'string' && text !== '' ? withPlainLineEnds(text) : undefined
}
