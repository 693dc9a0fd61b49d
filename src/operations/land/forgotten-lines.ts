// Lines that differ from HEAD, and whose makers are forgotten: named in the answer, since no landing takes them by itself.
import type { LandForgotten } from '../../../schemas/land.ts'
import type { FileLog } from './file-log.ts'
import type { LineLog } from './logged-line.ts'
import { mayBeOf, type Maker } from './maker.ts'

/** @param agent only those that may be of this one */
export function forgottenIn(
  logs: readonly FileLog[],
  nameOf: (path: string) => string,
  agent?: string
): LandForgotten[] {
  const isAsked = (maker: Maker | undefined): maker is Maker =>
    maker?.isForgotten === true && (agent === undefined || mayBeOf(maker, agent))
  return logs.flatMap(({ head, now, lines, contentMakers }) => {
    const path = nameOf((now ?? head)?.path ?? '')
    if (lines !== undefined) return rangesOf(lines, isAsked).map((range) => ({ path, ...range }))
    return contentMakers.filter(isAsked).map(({ agents = [] }) => ({ path, agents: [...agents] }))
  })
}

type Range = Omit<LandForgotten, 'path'>

/** Of the file as it is. What was removed has the number of the line behind it. */
function rangesOf({ lines }: LineLog<Maker>, isAsked: (maker: Maker | undefined) => maker is Maker): Range[] {
  const ranges: (Range & { end_line: number })[] = []
  let number = 1
  for (const { made, removed } of lines) {
    const isThere = removed === undefined
    const maker = isThere ? made?.change : made === undefined ? removed.change : undefined
    if (isAsked(maker)) {
      const agents = [...(maker.agents ?? [])]
      const before = ranges.at(-1)
      const isNext = before !== undefined && number <= before.end_line + 1 && before.agents.join() === agents.join()
      if (isNext) before.end_line = number
      else ranges.push({ start_line: number, end_line: number, agents })
    }
    if (isThere) number += 1
  }
  return ranges
}
