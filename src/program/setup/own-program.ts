// How other programs start this one: by absolute paths, so that it works from a clone, without a shell and without PATH.
import { existsSync } from 'node:fs'

/**
 * The Node that runs this. Homebrew names the version in the real path, which is gone after the next upgrade; its link stays.
 */
export function nodePath(): string {
  const { execPath } = process
  const link = execPath.replace(/\/Cellar\/(node(?:@\d+)?)\/[^/]+\/bin\/node$/, '/opt/$1/bin/node')
  return existsSync(link) ? link : execPath
}
