// Which paths operations may not touch: the server's own folder, and for writing what the operator protects.
import { OperationError } from '../../errors.ts'
import { ownFolder, temporaryPrefix, temporarySuffix } from './temporary-names.ts'
import { compileFileGlob } from './glob/plain-pattern.ts'

/** @param patterns globs relative to a root, matched without regard to case and Unicode look-alikes */
export function createProtection(patterns: readonly string[]) {
  const matchers = patterns.map((pattern) => compileFileGlob(pattern.toLowerCase()))

  function isProtected(relative: string): boolean {
    const folded = relative.split('/').map(foldName).join('/')
    return matchers.some(({ matches }) => matches(folded))
  }

  return {
    /** @throws OperationError ACCESS_DENIED for the server's own files */
    checkReadable(relative: string, path: string): void {
      if (isOwn(relative))
        throw new OperationError('ACCESS_DENIED', `This path belongs to the server itself: ${path}`, { path })
    },
    /** @throws OperationError ACCESS_DENIED for own files and protected ones */
    checkWritable(relative: string, path: string): void {
      this.checkReadable(relative, path)
      if (!isProtected(relative)) return
      const message = `This path is protected from changes (crud.protected): ${path}. Ask the operator, or change it with its own tool.`
      throw new OperationError('ACCESS_DENIED', message, { path })
    },
    /** True for a path that the operator protects from writing. */
    isProtected
  }
}

function isOwn(relative: string): boolean {
  return relative.split('/').some((name) => isOwnName(name))
}

/** True for the server's folder and its temporary files, whatever their spelling. */
export function isOwnName(name: string): boolean {
  const folded = foldName(name)
  return folded === ownFolder || (folded.startsWith(temporaryPrefix) && folded.endsWith(temporarySuffix))
}

/** The usual name: ASCII without anything that is dropped below. Checked first, since every path of every call comes through here. */
const isPlainName = /^[\w+,@=-]*(?:\.[\w+,@=-]+)*$/

/**
 * One name for all names that some file system treats as equal: compatibility forms and case are folded,
 * characters that HFS+ ignores are dropped, and so are the trailing dots, spaces and streams that NTFS ignores; git's short name is spelt out.
 */
function foldName(name: string): string {
  if (isPlainName.test(name)) return name.toLowerCase()
  const folded = name
    .normalize('NFKC')
    .replaceAll(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .toLowerCase()
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
  return folded === 'git~1' ? '.git' : folded
}
