// Parts of the program in files of their own, loaded at their first use: the text of each loaded file stays in memory.
import { createRequire } from 'node:module'
import { installed } from './installation.ts'

const require = createRequire(import.meta.url)

/** @param name of an entry of scripts/bundle.mjs */
export function loadPiece(name: 'checks' | 'faults' | 'encodings'): unknown {
  return require(installed(`dist/chunks/${name}.cjs`))
}
