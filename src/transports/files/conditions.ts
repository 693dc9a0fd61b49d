// If-Match and If-None-Match: entity tags that are the hashes of versions (RFC 9110, 13.1).
import { OperationError } from '../../errors.ts'

/** The version that a change is for: a hash, any (`*`), none (the file must not exist), or undefined if the request does not say. */
export type Expected = { readonly hash: string } | 'any' | 'none' | undefined

const hashTag = /^"(sha256:[0-9a-f]{64})"$/

export function tagOf(hash: string): string {
  return `"${hash}"`
}

/** @throws OperationError INVALID_REQUEST */
export function readExpected({
  ifMatch,
  ifNoneMatch
}: Record<'ifMatch' | 'ifNoneMatch', string | undefined>): Expected {
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    throw invalid('If-Match and If-None-Match contradict each other. Send one of them.')
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === '*') return 'none'
    throw invalid('If-None-Match of a change is *, which means that the file must not exist yet.')
  }
  if (ifMatch === undefined) return undefined
  if (ifMatch.trim() === '*') return 'any'
  const hash = hashTag.exec(ifMatch.trim())?.[1]
  if (hash !== undefined) return { hash }
  throw invalid('If-Match is one ETag as an answer gave it, in its quotes: "sha256:" and 64 lower-case hex digits.')
}

/** Whether the client of a read has this version. Weak tags match too. */
export function hasVersion(ifNoneMatch: string | undefined, hash: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags?.some((tag) => tag === '*' || tag === tagOf(hash)) ?? false
}

function invalid(message: string): OperationError {
  return new OperationError('INVALID_REQUEST', message)
}
