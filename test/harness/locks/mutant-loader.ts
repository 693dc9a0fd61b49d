// Makes lock managers with one fault each: the compiled source with the fault is copied to a temporary folder, one text of it replaced, and
// with it those sources that import it.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../../../src/support/installation.ts'

const sources = pathToFileURL(installed('dist/src/engine/locks/'))

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
  /** A seed with which they soon do, if the usual one takes long. */
  readonly seed?: number
}

export interface MutantLoader {
  /** URL of a lock manager with this fault; without a fault, of a mere copy. */
  write(mutant?: Mutant): URL
  remove(): void
}

export function createMutantLoader(): MutantLoader {
  const folder = mkdtempSync(join(tmpdir(), 'lock-mutants-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const names = readdirSync(sources).filter((name) => name.endsWith('.js'))
  const texts = new Map(names.map((name) => [name, readFileSync(new URL(name, sources), 'utf8')]))
  return {
    write(mutant) {
      const copy = mkdtempSync(join(folder, 'mutant-'))
      const copied = mutant === undefined ? new Set(names) : withImporters(`${mutant.file}.js`, texts)
      for (const name of copied) {
        const text = texts.get(name) ?? ''
        const mutated = mutant !== undefined && name === `${mutant.file}.js` ? seed(text, mutant) : text
        writeFileSync(join(copy, name), withAbsoluteImports(mutated, copied))
      }
      return pathToFileURL(join(copy, 'lock-manager.js'))
    },
    remove: () => rmSync(folder, { recursive: true })
  }
}

/** The file, and all that import it, themselves or through others. */
function withImporters(file: string, texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set([file])
  // What is added to a set while it is walked is walked too.
  for (const name of found)
    for (const [importer, text] of texts) if (text.includes(` from './${name}'`)) found.add(importer)
  return found
}

function seed(text: string, { fault, edits }: Mutant): string {
  return edits.reduce((edited, [from, to]) => {
    assert.equal(edited.split(from).length, 2, `"${from}" occurs not exactly once. Mutant: ${fault}`)
    return edited.replace(from, () => to)
  }, text)
}

/** What is not copied stays where it is. */
function withAbsoluteImports(text: string, copied: ReadonlySet<string>): string {
  return text.replaceAll(/ from '(\.\.?\/[^']+)'/g, (whole, path: string) =>
    copied.has(path.replace('./', '')) ? whole : ` from '${new URL(path, sources).href}'`
  )
}
