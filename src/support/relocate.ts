// The same place below another folder: for hosts that mount one volume at different paths.
import { sep } from 'node:path'

const leadingSeparators = sep === '/' ? /^\/+/ : /^[\\/]+/

/** What follows the folder in the path, without a separator; undefined if the path is neither the folder nor below it. */
export function below(folder: string, path: string): string | undefined {
  if (path === folder) return ''
  const prefix = folder.endsWith(sep) ? folder : folder + sep
  return path.startsWith(prefix) ? path.slice(prefix.length).replace(leadingSeparators, '') : undefined
}

/** @returns gives a path below `from` its place below `to`, and leaves all others */
export function relocation(from: string, to: string): (path: string) => string {
  return (path) => {
    const rest = below(from, path)
    if (rest === undefined) return path
    if (rest === '') return to
    return to.endsWith(sep) ? to + rest : to + sep + rest
  }
}

/** As `relocation`, for all paths that a text of several words names; where more of a name stands at its side, it is part of another path. */
export function relocationInProse(from: string, to: string): (text: string) => string {
  const folder = from.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
  const named = new RegExp(String.raw`(?<![\p{L}\p{N}_.-])${folder}(?![\p{L}\p{N}_-]|\.\S)`, 'gu')
  return (text) => text.replaceAll(named, () => to)
}
