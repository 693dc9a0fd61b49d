// Which share of a program's own time a part of its sources takes, by a profile of the V8 engine: other programs take none of it away.
import { readdirSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds. */
  readonly timeDeltas: readonly number[]
}

/** Of the samples: by then the compiler has seen enough calls. */
const warmShare = 0.3

/**
 * @param folder in which Node was told to leave the profile (`--cpu-prof-dir`)
 * @param part of the paths of the sources, such as `src/tree/persistence/`. What they call counts as theirs
 */
export function profileShare(folder: string, part: string): number {
  const name = readdirSync(folder).find((file) => file.endsWith('.cpuprofile'))
  if (name === undefined) return NaN
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const sourceOf = createSources()
  const known = new Map<number, boolean>()
  const isIn = (id: number | undefined): boolean => {
    if (id === undefined) return false
    const found = known.get(id) ?? (sourceOf(frames.get(id) as CallFrame).includes(part) || isIn(parents.get(id)))
    known.set(id, found)
    return found
  }
  let [busy, taken] = [0, 0]
  for (let at = Math.floor(samples.length * warmShare); at < samples.length; at += 1) {
    const [id, time] = [samples[at] as number, timeDeltas[at] ?? 0]
    if (frames.get(id)?.functionName === '(idle)') continue
    busy += time
    if (isIn(id)) taken += time
  }
  return taken / busy
}

function createSources() {
  const maps = new Map<string, SourceMap | undefined>()
  return ({ url, lineNumber, columnNumber }: CallFrame): string => {
    if (!url.startsWith('file:') || !basename(url).endsWith('.cjs')) return ''
    if (!maps.has(url)) maps.set(url, readMap(fileURLToPath(url)))
    const entry = maps.get(url)?.findEntry(lineNumber, columnNumber)
    return entry !== undefined && 'originalSource' in entry ? entry.originalSource : ''
  }
}

function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload)
  } catch {
    return undefined
  }
}
