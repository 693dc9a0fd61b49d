// Who made a change that was seen on the disk: one command, or one of several.
import { sep } from 'node:path'
import { type Author, byCommand, external } from '../versions/author.ts'
import { authorOf, type Effect, type OpenCommand } from './open-command.ts'

/** Who may have written to a file since its last version in the log. */
export interface Suspects {
  readonly commands: ReadonlySet<OpenCommand>
  /** Another program has written to it, or may have. */
  readonly hasOthers: boolean
  /** True if the system has noticed that the file is gone, and these are those who were at work then. */
  readonly sawEnd?: boolean
}

export interface Verdict {
  /** In the order in which they began. */
  readonly commands: readonly [OpenCommand, ...OpenCommand[]]
  /** True if another program may have made the change as well. */
  readonly hasOthers: boolean
}

/** Undefined if no command can have made it. */
export function decide(path: string, { commands, hasOthers }: Suspects): Verdict | undefined {
  const all = [...commands].sort((one, other) => one.number - other.number)
  const able = all.filter(({ effect }) => mayWrite(effect, path))
  // A line that says too little, such as one with an alias, must not make a change that of nobody.
  const possible = able.length === 0 && !hasOthers ? all : able
  const chosen = findNamed(path, possible) ?? possible
  const [first, ...others] = chosen
  if (first === undefined) return undefined
  return { commands: [first, ...others], hasOthers: hasOthers || chosen.some(({ task }) => task !== undefined) }
}

export function toAuthor({ commands, hasOthers }: Verdict): Author {
  const [first] = commands
  const agents = new Set(commands.map(({ agentId }) => agentId))
  if (hasOthers) agents.add(external.agentId)
  return { ...authorOf(first, byCommand), ...(agents.size > 1 && { agents: [...agents] }) }
}

/** The newest of those in the foreground that say that they write to the file, if no other agent's mentions it. */
function findNamed(path: string, commands: readonly OpenCommand[]): readonly OpenCommand[] | undefined {
  const named = commands.filter(({ effect }) => isNamed(effect, path))
  const newest = named.findLast(({ effect }) => effect.files.has(path))
  const isOwn = named.every(({ agentId, task }) => agentId === newest?.agentId && task === undefined)
  return newest !== undefined && isOwn ? [newest] : undefined
}

export function isNamed({ files, places }: Effect, path: string): boolean {
  return files.has(path) || places.some((place) => path === place || path.startsWith(place + sep))
}

function mayWrite(effect: Effect, path: string): boolean {
  return !effect.isBounded || isNamed(effect, path)
}
