// Conditions of requests on files (RFC 9110, 13): entity tags are the hashes of versions, dates are of the file system.
import type { IncomingHttpHeaders } from 'node:http'
import { OperationError } from '../../errors.ts'

/** The version that a change is for: a hash, any (`*`), none (the file must not exist), or undefined if the request does not say. */
export type Expected = { readonly hash: string } | 'any' | 'none' | undefined

const hashTag = /^"(sha256:[0-9a-f]{64})"$/

export function tagOf(hash: string): string {
  return `"${hash}"`
}

/** @throws OperationError INVALID_REQUEST, and PRECONDITION_REQUIRED for a date: two versions can share one */
export function readExpected(headers: IncomingHttpHeaders): Expected {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-unmodified-since': date } = headers
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    throw invalid('If-Match and If-None-Match contradict each other. Send one of them.')
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === '*') return 'none'
    throw invalid('If-None-Match of a change is *, which means that the file must not exist yet.')
  }
  if (ifMatch === undefined && date !== undefined)
    throw new OperationError(
      'PRECONDITION_REQUIRED',
      'If-Unmodified-Since does not name a version: two versions can share a time. Send If-Match with the ETag that GET gives. Nothing was changed.'
    )
  if (ifMatch === undefined) return undefined
  if (ifMatch.trim() === '*') return 'any'
  const hash = hashTag.exec(ifMatch.trim())?.[1]
  if (hash !== undefined) return { hash }
  throw invalid('If-Match is one ETag as an answer gave it, in its quotes: "sha256:" and 64 lower-case hex digits.')
}

/** What is read: without a hash it is a folder, which has neither versions nor a date. */
interface Selected {
  readonly hash?: string
  /** Milliseconds since the epoch. */
  readonly modified?: number
}

/** What the conditions of a GET or HEAD ask for, in the order of RFC 9110, 13.2.2. */
export function judgeRead(
  headers: IncomingHttpHeaders,
  { hash, modified = Infinity }: Selected
): 'send' | 'unmodified' | 'failed' {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  const since = toTime(headers['if-modified-since'])
  const unmodifiedSince = toTime(headers['if-unmodified-since'])
  if (ifMatch !== undefined) {
    if (!names(ifMatch, hash)) return 'failed'
  } else if (unmodifiedSince !== undefined && hash !== undefined && modified > unmodifiedSince) return 'failed'
  if (ifNoneMatch !== undefined)
    return names(ifNoneMatch.replaceAll(/(^|,)\s*W\//g, '$1'), hash) ? 'unmodified' : 'send'
  return since !== undefined && modified <= since ? 'unmodified' : 'send'
}

/** Whether what is read decides if it is shown. */
export function isConditional(headers: IncomingHttpHeaders): boolean {
  return conditions.some((name) => headers[name] !== undefined)
}

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const

function names(tags: string, hash: string | undefined): boolean {
  return tags.split(',').some((tag) => tag.trim() === '*' || (hash !== undefined && tag.trim() === tagOf(hash)))
}

/** What a file system may be behind the clock with the time of a change. */
const clockStepMs = 50

/**
 * For Last-Modified: a second at whose end the version was there, so that any later version is newer than that. Of a file that was changed
 * within this second no such second has passed yet: the one given is older than the version, and the next read gets the bytes again.
 */
export function lastModified(modified: number, now: number): string {
  const seconds = Math.min(Math.ceil(modified / 1000), Math.floor((now - clockStepMs) / 1000))
  return new Date(seconds * 1000).toUTCString()
}

const httpDate = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d (?:GMT|\d{4})$/

/** Undefined if there is none, or one that is no date of HTTP, which is to be ignored. */
function toTime(date: string | undefined): number | undefined {
  const text = date?.trim() ?? ''
  if (!httpDate.test(text)) return undefined
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(time) ? undefined : time
}

function invalid(message: string): OperationError {
  return new OperationError('INVALID_REQUEST', message)
}
