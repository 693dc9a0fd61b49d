// What is held against another server, or against the least that the same work takes: measured, wanted, and whether it is met.
import { figure, percent, printTable } from './table.ts'

export interface Target {
  readonly what: string
  /** A ratio, or what its unit says. */
  readonly measured: number
  readonly wanted: Bound
  readonly unit?: '%' | 'ms' | 'MB'
}

type Bound = { readonly atLeast: number } | { readonly atMost: number }

/** @param runs the same targets, measured once or several times; met only if every run has met it */
export function printTargets(title: string, ...runs: readonly (readonly Target[])[]): void {
  const [first = []] = runs
  const all = first.map((_, index) => runs.flatMap((run) => run[index] ?? []))
  const worst = new Map(
    all.flatMap((of) =>
      sortTargets(of)
        .slice(0, 1)
        .map((target) => [target, of] as const)
    )
  )
  const rows = sortTargets([...worst.keys()]).map((target) => {
    const { what, wanted, unit } = target
    const bound = 'atLeast' in wanted ? `>= ${show(wanted.atLeast, unit)}` : `<= ${show(wanted.atMost, unit)}`
    const measured = (worst.get(target) ?? []).map((one) => show(one.measured, unit))
    return [what, bound, measured.join(', '), verdict(target)]
  })
  printTable(title, ['target', 'wanted', 'measured', 'verdict'], rows)
}

/** Those missed come first, the furthest missed before the others. */
export function sortTargets(targets: readonly Target[]): Target[] {
  return targets.toSorted((a, b) => Math.sign(distance(a) - distance(b)) || 0)
}

export function verdict(target: Target): 'met' | 'missed' | 'not measured' {
  if (!Number.isFinite(target.measured)) return 'not measured'
  return distance(target) >= 1 ? 'met' : 'missed'
}

/** Below 1 where it is missed: which part of the way has been gone. Targets that were not measured come last. */
function distance({ measured, wanted }: Target): number {
  if (!Number.isFinite(measured)) return Infinity
  if ('atLeast' in wanted) return measured / wanted.atLeast
  // A difference may come out below zero.
  return measured > 0 ? wanted.atMost / measured : Number.MAX_VALUE
}

function show(value: number, unit: Target['unit']): string {
  if (!Number.isFinite(value)) return '-'
  if (unit === '%') return percent(value)
  return unit === undefined ? figure(value) : `${figure(value)} ${unit}`
}
