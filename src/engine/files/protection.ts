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
    /** @throws OperationError ACCESS_DENIED for files of the server and of the file system */
    checkReadable(relative: string, path: string): void {
      const name = relative.split('/').find(isOwnName)
      if (name === undefined) return
      const owner = isUnlinkedName(name)
        ? 'the file system, which removes it once no program has it open'
        : 'the server itself'
      throw new OperationError('ACCESS_DENIED', `This path belongs to ${owner}: ${path}`, { path })
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

/** True for the server's folder and its temporary files, whatever their spelling, and for what the file system keeps. */
export function isOwnName(name: string): boolean {
  const folded = foldName(name)
  const isOurs = folded === ownFolder || (folded.startsWith(temporaryPrefix) && folded.endsWith(temporarySuffix))
  return isOurs || isUnlinkedName(name)
}

/** What NFS (`nfs_sillyrename`) and FUSE (`hide_node`) call a file that was removed or replaced while it was open. */
const isUnlinkedName = (name: string) => /^\.(?:nfs[\da-f]{24}|fuse_hidden[\da-f]{16,})$/.test(name)

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
