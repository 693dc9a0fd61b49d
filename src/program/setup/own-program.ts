// How other programs start this one: by absolute paths, so that it works from a clone, without a shell and without PATH.
import { existsSync } from 'node:fs'
import { mainPath } from '../../support/installation.ts'

/**
 * The Node that runs this. Homebrew names the version in the real path, which is gone after the next upgrade; its link stays.
 */
export function nodePath(): string {
  const { execPath } = process
  const link = execPath.replace(/\/Cellar\/(node(?:@\d+)?)\/[^/]+\/bin\/node$/, '/opt/$1/bin/node')
  return existsSync(link) ? link : execPath
}

/** What the user should know of an installation that npx has made for one call; undefined for any other. */
export function cacheRemark(): string | undefined {
  if (!/[\\/]_npx[\\/]/.test(mainPath)) return undefined
  return 'What was written starts an installation in the cache of npx, which npm may clear: install it (docs/clients.md), and call this again there.'
}
