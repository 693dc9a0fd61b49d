// What the log says of each write of a campaign, compared with who made it.
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { graceMs } from '../../../src/engine/commands/open-command.ts'
import { byCommand } from '../../../src/engine/versions/author.ts'
import type { Version } from '../../../src/engine/versions/version.ts'
import type { Campaign, Told, Write } from './campaign.ts'

export interface Verdicts {
  readonly alone: Counts
  readonly overlapping: Counts
  /** How many are one of several, by their kind. */
  readonly uncertain: Readonly<Record<string, number>>
  /** How many were in their file behind their end, and in no version that is kept. */
  readonly lost: number
  /** Of the wrong ones and the missing ones: what they are. */
  readonly faults: readonly string[]
}

export interface Counts {
  /** The right author, alone. */
  right: number
  /** Several, the right one among them. */
  oneOf: number
  /** Without the right one, or another one alone. */
  wrong: number
  /** No version has it: it was overwritten before the command's end. */
  missing: number
}

interface Step {
  readonly version: Version
  /** Lines that the version before did not have. */
  readonly added: ReadonlySet<string>
}

export async function judge({ writes }: Campaign, root: string, app: FastifyInstance): Promise<Verdicts> {
  // Of the last commands it may not all be logged yet.
  await app.commands.settled()
  const verdicts = {
    alone: none(),
    overlapping: none(),
    uncertain: {} as Record<string, number>,
    lost: 0,
    faults: [] as string[]
  }
  const steps = new Map<string, readonly Step[]>()
  for (const write of writes) {
    const path = join(root, write.path)
    if (!steps.has(path)) steps.set(path, await stepsOf(path, app))
    const found = findStep(write, steps.get(path) ?? [])
    const counts = isAlone(write, writes) ? verdicts.alone : verdicts.overlapping
    const is = outcomeOf(write, found)
    counts[is] += 1
    if (is === 'oneOf') verdicts.uncertain[write.kind] = (verdicts.uncertain[write.kind] ?? 0) + 1
    if (is === 'missing' && write.stood) verdicts.lost += 1
    if (is === 'wrong' || is === 'missing' || (is === 'oneOf' && counts === verdicts.alone))
      verdicts.faults.push(
        `${is}${write.stood ? ' (stood)' : ''}: ${write.kind} of ${write.mark} at ${write.path}: ${JSON.stringify(found?.version)} of ${steps.get(path)?.length}`
      )
  }
  return verdicts
}

function none(): Counts {
  return { right: 0, oneOf: 0, wrong: 0, missing: 0 }
}

async function stepsOf(path: string, { history, bases }: FastifyInstance): Promise<readonly Step[]> {
  const steps: Step[] = []
  let before = new Set<string>()
  for (const version of history.versions(path)) {
    const text = version.hash === null ? '' : ((await bases.get(version.hash))?.toString() ?? '')
    const lines = new Set(text.split('\n'))
    steps.push({ version, added: new Set([...lines].filter((line) => !before.has(line))) })
    before = lines
  }
  return steps
}

/** The version with its mark; for what leaves no mark, one at its agent's own path. */
function findStep({ mark, isByPath, agent, kind }: Write, steps: readonly Step[]): Step | undefined {
  const marked = steps.find(({ added }) => [...added].some((line) => line.endsWith(mark)))
  if (marked !== undefined || !isByPath) return marked
  const own = steps.filter(({ version }) => version.operation === byCommand)
  if (kind === 'rm') return own.find(({ version }) => version.hash === null)
  return own.find(({ version }) => version.agentId !== agent) ?? own[0]
}

function outcomeOf({ agent }: Write, step: Step | undefined): keyof Counts {
  if (step === undefined) return 'missing'
  const { agentId, agents } = step.version
  if (agents !== undefined) return agents.includes(agent) ? 'oneOf' : 'wrong'
  return agentId === agent ? 'right' : 'wrong'
}

/** No other command was open meanwhile, or shortly before or behind. */
function isAlone({ agent, start, end }: Write, writes: readonly Write[]): boolean {
  return !writes.some((other) => other.agent !== agent && other.start < end + graceMs && other.end + graceMs > start)
}

/** What agents were told of changes that they made themselves, as if others had. */
export function ownChangesTold(told: readonly Told[], writes: readonly Write[]): string[] {
  const writers = new Map<string, Set<string>>()
  for (const { path, agent } of writes) writers.set(path, (writers.get(path) ?? new Set()).add(agent))
  return told.flatMap(({ agent, text }) =>
    text.split('\n').filter((line) => {
      const isOutside = /someone outside/i.test(line) && !/either/i.test(line)
      return isOutside || line.includes(`- ${agent} changed`) || line.includes('behind your edit')
    })
  )
}
