// The members of an answer that a model needs: without what its call has said, what is usual, and what only programs read.
import { contentText, type OperationResult } from '../../engine/call/context.ts'
import { withAlgorithm } from '../../support/hash-digits.ts'
import { isFields, type Fields } from '../../support/json-fields.ts'

/** @param call the members of the input */
type Rule = (value: unknown, call: Fields) => boolean

const always: Rule = () => true
const isUsual: Rule = (value) => value === true
const isEmpty: Rule = (value) => Array.isArray(value) && value.length === 0
const isSaid =
  (name: string): Rule =>
  (value, call) =>
    value === call[name]
/** In however many digits it was said. */
const isVersionSaid =
  (name: string): Rule =>
  (value, { [name]: said }) =>
    typeof value === 'string' && typeof said === 'string' && value.startsWith(withAlgorithm(said))

/** When a member may be left out. */
const needless: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['timestamp', always],
  ['bytes_written', always],
  ['bytes_appended', always],
  ['total_size_bytes', always],
  ['offset', always],
  ['limit', always],
  ['lines_returned', always],
  ['path', isSaid('path')],
  ['old_path', isSaid('old_path')],
  ['new_path', isSaid('new_path')],
  ['snapshot', isSaid('snapshot')],
  ['encoding', (value, call) => value === 'utf-8' || value === call['encoding']],
  ['expected_hash', isVersionSaid('expected_hash')],
  ['previous_hash', isVersionSaid('expected_hash')],
  ['from_hash', isVersionSaid('from_hash')],
  ['to_hash', isVersionSaid('to_hash')],
  ['changed', isUsual],
  ['base_known', isUsual],
  ['non_conflicting_patches', isEmpty],
  ['applicable_patches', isEmpty],
  ['modified_by', isEmpty]
])

/** Of who has changed a file; the message of a notice says the rest. */
const needlessOfChanges: ReadonlySet<string> = new Set(['at'])
const needlessOfNotices: ReadonlySet<string> = new Set(['at', 'modified_by'])

/** Their answers have other times, which only the present makes readable. */
const tellTimes: ReadonlySet<string> = new Set([
  'async_status',
  'async_history',
  'async_blame',
  'get_server_info',
  'lock_try',
  'lock_wait',
  'lock_renew',
  'lock_status'
])

/** Lists of results, and the list of the input whose items they answer. */
const lists: ReadonlyMap<string, string | undefined> = new Map([
  ['results', 'files'],
  ['changes', 'changes'],
  ['contentions', undefined],
  ['failures', undefined]
])

/** @param name of the operation @param input as the client sent it */
export function neededFields(name: string, answer: OperationResult, input: unknown): OperationResult {
  // FES fixes the shapes that have no status.
  if (answer.status === undefined) return answer
  const needed = neededOf(answer, isFields(input) ? input : {})
  const known = answer[contentText]
  return {
    ...needed,
    ...(tellTimes.has(name) && 'timestamp' in answer && { timestamp: answer['timestamp'] }),
    ...(known !== undefined && { [contentText]: known })
  }
}

/** Whether every answer has the member that its schema demands. */
export function isNeeded(name: string): boolean {
  return !needless.has(name) && !needlessOfNotices.has(name)
}

function neededOf(answer: Fields, call: Fields): Fields {
  const needed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(answer)) {
    if (needless.get(name)?.(value, call) === true) continue
    const shown = name === 'details' ? neededDetails(value, answer) : neededWithin(name, value, call)
    if (shown !== undefined) needed[name] = shown
  }
  return needed
}

function neededWithin(name: string, value: unknown, call: Fields): unknown {
  if (!Array.isArray(value)) return value
  if (name === 'modified_by') return value.map((item) => without(item, needlessOfChanges))
  if (name === 'notices') return value.map((item) => without(item, needlessOfNotices))
  if (name === 'versions') return value.map((item) => (isFields(item) ? neededOf(item, { path: call['path'] }) : item))
  if (!lists.has(name)) return value
  const calls = call[lists.get(name) ?? '']
  return value.map((item: unknown, index) => {
    const own: unknown = Array.isArray(calls) ? calls[index] : undefined
    // The path tells one result from the other.
    const { expected_hash, encoding }: Fields = isFields(own) ? own : {}
    return isFields(item) ? neededOf(item, { expected_hash, encoding }) : item
  })
}

/** What the message of an error has not said. */
function neededDetails(details: unknown, { error_code, code = error_code }: Fields): Fields | undefined {
  if (!isFields(details)) return undefined
  const { faults: _, change, failures, nearest, ...others } = details
  const { patch }: Fields = isFields(nearest) ? nearest : {}
  // The first failure of several is the error itself.
  const further = Array.isArray(failures) ? failures.filter((one: Fields) => one['change'] !== change) : []
  const facts = {
    ...besideMessage(code, others),
    ...(patch !== undefined && { nearest: { patch } }),
    ...(further.length > 0 && { failures: further })
  }
  const needed = Object.entries(facts).filter(([, value]) => value !== undefined)
  if (needed.length === 0) return undefined
  return Object.fromEntries(needed.map(([name, value]) => [name, neededWithin(name, value, {})]))
}

/** @param code of the error */
function besideMessage(code: unknown, details: Fields): Fields {
  const { contentions, holders, holder_count } = details
  switch (code) {
    case 'INVALID_PATCH':
      return { contentions }
    case 'LOCK_TIMEOUT':
      // The message names the first.
      return Number(holder_count) > 1 ? { holder_count, holders } : {}
    case 'DEADLOCK':
      return {}
    default:
      return details
  }
}

function without(item: unknown, names: ReadonlySet<string>): unknown {
  return isFields(item) ? Object.fromEntries(Object.entries(item).filter(([name]) => !names.has(name))) : item
}
