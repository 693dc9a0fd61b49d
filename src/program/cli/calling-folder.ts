// The folder that a server serves if none is named: the one it was called from, but never a home folder or a whole disk.
import { dirname, parse, resolve } from 'node:path'
import { toReal } from '../../support/real-path.ts'

/** Scripts of npm run in the folder of their package; npm says from where it was called. */
export function callingFolder(cwd: string, environment: Readonly<Record<string, string | undefined>>): string {
  const { INIT_CWD: calledFrom, npm_package_json: manifest } = environment
  const isScript = manifest !== undefined && dirname(manifest) === cwd
  return isScript && calledFrom !== undefined ? calledFrom : cwd
}

/** @throws Error for a folder that nobody means as a whole */
export function refuseWide(folder: string, home: string): void {
  const path = resolve(folder)
  const isDisk = parse(path).root === path
  // A home folder may be a link, and Windows spells the same folder in several ways.
  if (!isDisk && toReal(path) !== toReal(home)) return
  const what = isDisk ? 'the whole disk' : 'your home folder'
  throw new Error(
    `no folder was named, and ${path} (${what}) is not served without being named: pass --dir <folder>, or start it in the folder of your project`
  )
}
