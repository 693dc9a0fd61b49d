// A pattern in its plain spelling: without `./`, doubled slashes and a slash at its end, or INVALID_PATTERN with what to do instead.
import { isFileUri } from '../../../support/file-uri.ts'
import { compileGlob, compilePathGlob, invalidPattern } from './glob.ts'

const dotSegment = /(^|[/{,])\.{1,2}($|[/},])/

/** A pattern without what does not change its meaning. */
export interface PlainPattern {
  readonly text: string
  /** True: it means the path relative to the directory; false: the name, at every depth. */
  readonly isPath: boolean
  /** True if a slash at its end means a directory. */
  readonly isFolder: boolean
}

/** @throws OperationError INVALID_PATTERN for one that goes up, or names the directory itself */
export function toPlainPattern(pattern: string): PlainPattern {
  if (isFileUri(pattern)) throw invalidPattern(pattern, 'is an address', 'Pass a pattern of paths, such as src/**')
  const text = pattern
    .replaceAll(/\/{2,}/g, '/')
    .replace(/^(\.\/)+/, '')
    .replaceAll(/(?:\/\.)+(?=\/)/g, '')
    .replace(/\/$/, '')
  if (text === '' || dotSegment.test(text))
    throw invalidPattern(
      pattern,
      'has a . or .. that leads to another folder',
      'Pass the folder as path, and a pattern below it'
    )
  return { text, isPath: pattern.includes('/') || pattern.includes('**'), isFolder: pattern.endsWith('/') }
}

/**
 * A pattern of files: with a slash at its end it means that folder and all below it.
 * @throws OperationError INVALID_PATTERN
 */
export function compileFileGlob(pattern: string): { matches: (path: string) => boolean; steps: number } {
  const { text, isPath, isFolder } = toPlainPattern(pattern)
  if (isPath) return compilePathGlob(isFolder ? `${text}/**` : text)
  const matches = compileGlob(text)
  return { matches, steps: matches.steps }
}
