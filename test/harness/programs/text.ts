// Texts whose lines are all different, so that a comparison and a merge of them have one answer only.

/** Lines with their line ends; only the last one can lack it. */
export type Text = readonly string[]

/** Lines `start` up to, and without, `end` of the base become `lines`. */
export interface Hunk {
  readonly start: number
  readonly end: number
  readonly lines: Text
}

/** The smallest difference, in order. The lines that both have are in the same order in both. */
export function hunksOf(base: Text, other: Text): Hunk[] {
  const hunks: Hunk[] = []
  let [start, from] = [0, 0]
  for (const line of [...base.filter((line) => other.includes(line)), undefined]) {
    const [end, to] = line === undefined ? [base.length, other.length] : [base.indexOf(line), other.indexOf(line)]
    if (end > start || to > from) hunks.push({ start, end, lines: other.slice(from, to) })
    ;[start, from] = [end + 1, to + 1]
  }
  return hunks
}

/**
 * What docs/operations.md says: a change of one side is taken, one that both have made alike is taken once, and changes of the same or of
 * neighbouring lines are a conflict.
 */
export function merge(base: Text, current: Text, incoming: Text): Text | 'conflict' {
  const [own, others] = [hunksOf(base, incoming), hunksOf(base, current)]
  const isSame = (one: Hunk, other: Hunk) => JSON.stringify(one) === JSON.stringify(other)
  const doTouch = (one: Hunk, other: Hunk) => one.start <= other.end && other.start <= one.end
  const added = own.filter((hunk) => !others.some((other) => isSame(hunk, other)))
  if (added.some((hunk) => others.some((other) => doTouch(hunk, other)))) return 'conflict'
  const merged = [...base]
  for (const { start, end, lines } of [...added, ...others].sort((one, other) => other.start - one.start))
    merged.splice(start, end - start, ...lines)
  return merged
}

/** `diff -u` with the whole file as context. */
export function unifiedOf(base: Text, wanted: Text): string {
  const removed = base.filter((line) => !wanted.includes(line))
  const body: string[] = []
  let at = 0
  for (const line of base) {
    if (removed.includes(line)) {
      body.push(`-${line}`)
      continue
    }
    const until = wanted.indexOf(line)
    body.push(...wanted.slice(at, until).map((added) => `+${added}`), ` ${line}`)
    at = until + 1
  }
  body.push(...wanted.slice(at).map((added) => `+${added}`))
  return `--- a\n+++ b\n@@ -1,${base.length} +1,${wanted.length} @@\n${body.join('')}`
}
