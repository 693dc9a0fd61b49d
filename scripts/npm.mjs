// How npm is started without a shell: on Windows it is a script for cmd, which Node starts only through a shell, and a shell splits
// `C:\Program Files` in two. So Node runs npm's own program there.
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** @returns the program and its first arguments. @throws Error if there is no npm */
export function npmCommand() {
  if (process.platform !== 'win32') return ['npm']
  const { npm_execpath: running = '', PATH, Path } = process.env
  // Another package manager that runs this names itself there.
  if (/[\\/]npm-cli\.js$/.test(running) && existsSync(running)) return [process.execPath, running]
  const folders = [...(PATH ?? Path ?? '').split(delimiter), dirname(process.execPath)]
  const found = folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js'))
    .find((path) => existsSync(path))
  if (found !== undefined) return [process.execPath, found]
  throw new Error(`no npm was found beside ${process.execPath} or in a folder of PATH: install Node together with npm`)
}
