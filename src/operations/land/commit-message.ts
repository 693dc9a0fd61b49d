// What a commit says of the changes that it lands.
import type { LandInput } from '../../../schemas/land.ts'
import { external } from '../../engine/versions/author.ts'
import type { CommitFile } from '../../support/project/stage-files.ts'
import type { Landing } from './plan-landing.ts'

interface Said {
  readonly selection: Pick<LandInput, 'agent' | 'message'>
  readonly landing: Pick<Landing, 'agents' | 'changeSets'>
  readonly files: readonly CommitFile[]
  /** Of leases. */
  readonly notes: readonly string[]
  /** The setting land.co_author. */
  readonly coAuthor: string
}

const maxListed = 20
/** A change set that no caller has named has such a name. */
const generated = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/
const trailer = /^[A-Za-z][A-Za-z-]*: \S/

export function commitMessage({ selection: { agent, message }, landing, files, notes, coAuthor }: Said): string {
  const { agents, changeSets } = landing
  // People are no agent: the author of the commit is one.
  const order = [agent, ...agents.filter((one) => one !== agent)].filter(
    (one) => agents.includes(one) && one !== external.agentId
  )
  const trailers = [
    ...order.map((one) => `Agent: ${oneLine(one)}`),
    ...changeSets.map((one) => `Change-Set: ${oneLine(one)}`),
    ...(coAuthor === '' ? [] : order.map((one) => toCoAuthor(coAuthor, one)))
  ]
  const text = (message ?? fromNotes([...notes, ...changeSets.filter(isNamed)]) ?? fromFiles(agent, files)).trimEnd()
  const end = trailers.filter((line) => !text.split('\n').includes(line)).join('\n')
  if (end === '') return `${text}\n`
  return `${text}${endsWithTrailers(text) ? '\n' : '\n\n'}${end}\n`
}

const isNamed = (changeSet: string) => !generated.test(changeSet)

/** One for each line: the first is the subject. */
function fromNotes(notes: readonly string[]): string | undefined {
  const [subject, ...more] = new Set(notes.map(oneLine))
  if (subject === undefined) return undefined
  return more.length === 0 ? subject : [subject, '', ...more.map((note) => `- ${note}`)].join('\n')
}

function fromFiles(agent: string, files: readonly CommitFile[]): string {
  const names = files.slice(0, maxListed).map(({ name, bytes }) => `- ${bytes === undefined ? 'removed: ' : ''}${name}`)
  const more = files.length > maxListed ? [`- and ${files.length - maxListed} more`] : []
  return [`Changes by ${oneLine(agent)}`, '', ...names, ...more].join('\n')
}

/** {agent} is its name; in an address only letters, digits and a few signs. */
function toCoAuthor(coAuthor: string, agent: string): string {
  const [name = '', ...address] = oneLine(coAuthor).split(/(?=<)/)
  const ofAddress = agent.replaceAll(/[^\w.+-]+/g, '-')
  const shown = oneLine(agent).replaceAll(/[<>]/g, '')
  return `Co-authored-by: ${name.replaceAll('{agent}', shown)}${address.join('').replaceAll('{agent}', ofAddress)}`
}

/** More of them belong to the same paragraph. */
function endsWithTrailers(text: string): boolean {
  const paragraphs = text.split(/\n{2,}/)
  const last = paragraphs.length > 1 ? paragraphs.at(-1)!.split('\n') : []
  return last.length > 0 && last.every((line) => trailer.test(line))
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
