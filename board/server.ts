// Calls of the server that the page came from, with the token of this tab, if one is set.

const storageKey = 'async-crud-mcp token'

/** The tab's storage is refused by some privacy settings: then the token lives as long as the page. */
let token = readToken()
/** Server time minus browser time, in milliseconds: the two clocks may differ. */
let offsetMs = 0
let hasOffset = false

export interface Failure {
  readonly status?: string
  readonly error_code?: string
  readonly message?: string
}

export class ServerError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, { error_code = '', message = '' }: Failure) {
    super(message || `The server answered ${status}.`)
    this.status = status
    this.code = error_code
  }
}

export function setToken(text: string): void {
  token = text
  try {
    if (text === '') sessionStorage.removeItem(storageKey)
    else sessionStorage.setItem(storageKey, text)
  } catch {
    // Kept in memory alone.
  }
}

export const hasToken = (): boolean => token !== ''

/** By the server's clock, which all times on the page are of. */
export const serverNow = (): number => Date.now() + offsetMs

/** The smallest delay tells most: an answer is never older than it says. */
export function noteServerTime(text: string | undefined): void {
  const difference = Date.parse(text ?? '') - Date.now()
  if (Number.isNaN(difference)) return
  // Small steps are the network's: a jump is a clock that was set.
  if (!hasOffset || difference > offsetMs || offsetMs - difference > 2000) offsetMs = difference
  hasOffset = true
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== '') headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(path, { cache: 'no-store', credentials: 'omit', ...init, headers })
  if (response.ok) return response
  const failure = (await response.json().catch(() => ({}))) as Failure
  if (failure.status === 'contention') return new Response(JSON.stringify(failure))
  throw new ServerError(response.status, failure)
}

export async function get<Answer extends object>(path: string): Promise<Answer> {
  const answer = (await (await ask(path)).json()) as Answer
  noteServerTime((answer as { timestamp?: string }).timestamp)
  return answer
}

/** A contention is an answer too, with status 409. */
export async function call<Answer extends object>(operation: string, input: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(input) }
  return (await (await ask(`/${operation}`, init)).json()) as Answer
}

/** The same call for a terminal. Quoted for a POSIX shell, so that no name in it does anything there. */
export function curlOf(path: string, input?: object): string {
  const words = ['curl', '-sS']
  if (token !== '') words.push('-H', '"Authorization: Bearer $ASYNC_CRUD_MCP_DAEMON__TOKEN"')
  if (input !== undefined) words.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(input)))
  words.push(quote(location.origin + path))
  return words.join(' ')
}

/** The server's address of a file, as `curl -T` takes it. */
export function fileAddress(path: string): string {
  return `/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function readToken(): string {
  try {
    return sessionStorage.getItem(storageKey) ?? ''
  } catch {
    return ''
  }
}
