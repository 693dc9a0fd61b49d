// The name of a project, told without starting Git: that of its remote repository, else of its folder (DUAL 2.2).
import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readSmall } from './read-small.ts'
import { nameOfRemote, toShownRemote } from './remote.ts'

/** @param root absolute */
export function projectName(root: string): string {
  const gitDir = findGitDir(root)
  const config = gitDir === undefined ? undefined : readSmall(join(gitDir, 'config'))
  const address = config === undefined ? undefined : findRemote(config)
  return nameOfRemote(toShownRemote(address ?? '') ?? '') ?? basename(root)
}

/** The folder with the configuration: in a linked worktree `.git` is a file that leads there by way of another. */
function findGitDir(folder: string): string | undefined {
  for (let here = folder; ; here = dirname(here)) {
    const path = join(here, '.git')
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true) return path
    const target = stat === undefined ? undefined : /^gitdir: (.+)/.exec(readSmall(path) ?? '')?.[1]
    if (target !== undefined) {
      const gitDir = resolve(here, target)
      return resolve(gitDir, readSmall(join(gitDir, 'commondir'))?.trim() ?? '')
    }
    if (dirname(here) === here) return undefined
  }
}

/** The address of `origin`, else of the first remote. */
function findRemote(config: string): string | undefined {
  const addresses = new Map<string, string>()
  let remote: string | undefined
  for (const line of config.split('\n')) {
    const [, header] = /^\s*\[(.*)\]/.exec(line) ?? []
    if (header !== undefined) remote = /^remote\s+"(.*)"$/i.exec(header)?.[1]
    const address = /^\s*url\s*=\s*"?([^"#;\s]+)/i.exec(line)?.[1]
    if (remote !== undefined && address !== undefined && !addresses.has(remote)) addresses.set(remote, address)
  }
  return addresses.get('origin') ?? [...addresses.values()][0]
}
