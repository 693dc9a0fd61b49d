// The mounts of this process, as Linux lists them.
import { readText } from './read-text.ts'
import { below } from './relocate.ts'

interface Mount {
  readonly path: string
  /** As `mount` takes them. */
  readonly options: readonly string[]
}

/** In the order in which they were made: of two at one path the later one counts. */
export function readMounts(): Mount[] {
  return readText('/proc/self/mountinfo')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, , , , path = '', options = ''] = line.split(' ')
      return { path: unescape(path), options: options.split(',') }
    })
}

/** Folders below another one at which something is mounted. */
export function mountsBelow(folder: string, mounts: readonly Mount[]): string[] {
  return mounts.map(({ path }) => path).filter((path) => path !== folder && below(folder, path) !== undefined)
}

/** Options that a mount of the same files must keep. */
export function optionsAt(path: string, mounts: readonly Mount[]): string[] {
  const around = mounts.filter((one) => below(one.path, path) !== undefined)
  const longest = Math.max(...around.map((one) => one.path.length))
  const mount = around.findLast((one) => one.path.length === longest)
  return (mount?.options ?? []).filter((option) => option !== 'rw' && option !== 'ro')
}

/** Spaces, line ends and backslashes are written as octal numbers. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
