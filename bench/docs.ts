// The tables of a run, put into the pages of docs/ in place of those of the run before.
import { readFileSync, writeFileSync } from 'node:fs'
import { installed } from '../src/support/installation.ts'
import type { Table } from './table.ts'

const pages = ['docs/performance.md', 'docs/benchmarks.md'].map(installed)

/** Everything between the two is replaced: the line that begins it names a part of the bench, and maybe one of its tables. */
const place = /^<!-- bench: ([\w-]+)(?: \/ (.+?))? -->\n[^]*?^<!-- end -->$/gm

/** @param part such as `hot-path` @returns how many tables have found a place */
export function writeTables(part: string, tables: readonly Table[]): number {
  const texts = pages.map((page) => readFileSync(page, 'utf8'))
  const { texts: filled, count } = fillPlaces(texts, part, tables)
  for (const [index, page] of pages.entries()) writeFileSync(page, filled[index] ?? '')
  return count
}

/** A table with a place of its own is not repeated where all tables of its part are. */
export function fillPlaces(texts: readonly string[], part: string, tables: readonly Table[]) {
  const own = new Set(texts.flatMap((text) => [...text.matchAll(place)].map(([, name, title]) => `${name} / ${title}`)))
  const others = tables.filter(({ title }) => !own.has(`${part} / ${title}`))
  let count = 0
  const filled = texts.map((text) =>
    text.replace(place, (all, name: string, title: string | undefined) => {
      if (name !== part) return all
      const placed = title === undefined ? others : tables.filter((table) => table.title === title)
      if (placed.length === 0) return all
      count += placed.length
      const shown = placed.map((table) => (title === undefined ? `### ${table.title}\n\n${table.text}` : table.text))
      const [begin] = all.split('\n')
      return `${begin}\n\n${shown.join('\n\n')}\n\n<!-- end -->`
    })
  )
  return { texts: filled, count }
}
