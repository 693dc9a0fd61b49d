// What a session is told of a command: whose lines it would take, and what does the same for its own.
import { beginningOf } from '../../support/cut-text.ts'
import { quoteWord } from '../../support/shell/quote-word.ts'
import type { Lost } from './lost-lines.ts'

export interface LostFile {
  /** As the session would name it. */
  readonly shown: string
  readonly lost: Lost
}

export const maxFiles = 10
const maxOwn = 20

export interface Found {
  readonly lost: readonly LostFile[]
  /** Files beyond the limit, which were not looked at. */
  readonly notLooked: number
  /** Files of which only the session's own lines would go. */
  readonly own: readonly string[]
}

export function refusalText(agentId: string, command: string, { lost, notLooked, own }: Found): string {
  const files = lost.slice(0, maxFiles).map(({ shown, lost: lines }) => `- ${shown}: ${describe(lines)}`)
  const more = lost.length + notLooked - files.length
  const paths = own.slice(0, maxOwn).map(quoteWord).join(' ')
  const ownWords =
    own.length === 0 || own.length > maxOwn
      ? 'name only files of your own, for example: git restore -- path'
      : `for the files with only your own lines: git restore -- ${paths} (rm for files that are not tracked)`
  return [
    `Not run: ${quoteLine(command)} would discard uncommitted lines of others:`,
    ...files,
    ...(more > 0 ? [`- and ${more} more files`] : []),
    `To take back only what you have changed, call async_undo with by_agent: ${JSON.stringify(agentId)}; or ${ownWords}.`,
    'If these lines are to go all the same, ask the people and agents named here, or let them commit first.'
  ].join('\n')
}

export function sweptText(swept: readonly LostFile[], agentId: string): string {
  const files = swept.slice(0, maxFiles).map(({ shown, lost }) => `- ${shown}: ${describe(lost)}`)
  const more = swept.length - files.length
  return [
    'async-crud-mcp: this commit takes in uncommitted lines of others:',
    ...files,
    ...(more > 0 ? [`- and ${more} more files`] : []),
    `To commit only your own: async-crud-mcp land --agent ${quoteWord(agentId)}, or git add only your files.`
  ].join('\n')
}

export function unknownText(why: readonly string[]): string {
  return `async-crud-mcp could not tell ${[...new Set(why)].slice(0, 3).join('; ')}. The command runs unchecked; what differs from HEAD is kept as it was before.`
}

export function unopenedText(folders: readonly string[]): string {
  const status = folders.slice(0, 3).map((folder) => `git -C ${quoteWord(folder)} status`)
  return `async-crud-mcp could not ask Git what this command would discard: Git is not in the PATH of the server, or refuses the repository. The command runs unchecked, and of files that are not in use nothing is kept. Tell whoever runs the server that this has to work for it: ${status.join('; ')}`
}

function describe(lost: Lost): string {
  return [...lost].map(([name, lines]) => `${lines} ${lines === 1 ? 'line' : 'lines'} of ${name}`).join(', ')
}

/** Its first line, as far as it is short. */
export function quoteLine(command: string): string {
  return beginningOf(command.trim().split('\n')[0]!, 120)
}
