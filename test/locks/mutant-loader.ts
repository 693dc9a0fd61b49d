// Makes lock managers with one fault each: the compiled sources are copied to a temporary folder, one text is replaced.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const sources = new URL('../../src/locks/', import.meta.url)

export interface Mutant {
  /** What the fault is, as a sentence about the mutant. */
  readonly fault: string
  /** A compiled file of src/locks, without extension. */
  readonly file: string
  /** Each first text occurs exactly once in the file, and is replaced by the second. */
  readonly edits: readonly (readonly [from: string, to: string])[]
  /** Title of the property that it breaks. */
  readonly breaks: string
  /** True where random schedules find it too. */
  readonly foundBySchedules?: boolean
  /** True where random histories of leases find it too. */
  readonly foundByHistories?: boolean
}

export interface MutantLoader {
  /** URL of a lock manager with this fault; without a fault, of a mere copy. */
  write(mutant?: Mutant): URL
  remove(): void
}

export function createMutantLoader(): MutantLoader {
  const folder = mkdtempSync(join(tmpdir(), 'lock-mutants-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return {
    write(mutant) {
      const copy = mkdtempSync(join(folder, 'mutant-'))
      for (const name of readdirSync(sources).filter((name) => name.endsWith('.js'))) {
        const text = readFileSync(new URL(name, sources), 'utf8')
        const mutated = name === `${mutant?.file}.js` && mutant !== undefined ? seed(text, mutant) : text
        writeFileSync(join(copy, name), withAbsoluteImports(mutated))
      }
      return pathToFileURL(join(copy, 'lock-manager.js'))
    },
    remove: () => rmSync(folder, { recursive: true })
  }
}

function seed(text: string, { fault, edits }: Mutant): string {
  return edits.reduce((edited, [from, to]) => {
    assert.equal(edited.split(from).length, 2, `"${from}" occurs not exactly once. Mutant: ${fault}`)
    return edited.replace(from, () => to)
  }, text)
}

/** What lies outside the folder stays where it is. */
function withAbsoluteImports(text: string): string {
  return text.replaceAll(/ from '(\.\.\/[^']+)'/g, (_, path: string) => ` from '${new URL(path, sources).href}'`)
}
