// The name of a project, found without starting Git: that of its remote repository, else of its folder (DUAL 2.2).
import { basename, join } from 'node:path'
import { readSmall } from './read-small.ts'
import { nameOfRemote, toShownRemote } from './remote.ts'
import { findRepository } from './repository.ts'

/** @param root absolute */
export function projectName(root: string): string {
  const { commonDir } = findRepository(root) ?? {}
  const config = commonDir === undefined ? undefined : readSmall(join(commonDir, 'config'))
  const address = config === undefined ? undefined : findRemote(config)
  return nameOfRemote(toShownRemote(address ?? '') ?? '') ?? basename(root)
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
