// The folder of this installation, whichever of its files asks: bundled, compiled, or a test's.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readText } from './read-text.ts'

/** The folder of package.json. */
const folder = findFolder()

/** @param path from the folder of package.json, such as `openapi/openapi.json` */
export const installed = (path: string): string => join(folder, path)

/** The shipped program: the bundle of all its modules. */
export const mainPath = installed('dist/main.cjs')

const manifest = JSON.parse(readText(installed('package.json'))) as { version: string }

/** From package.json: written once. */
export const version = manifest.version

function findFolder(): string {
  let candidate = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(candidate, 'package.json')) && candidate !== dirname(candidate))
    candidate = dirname(candidate)
  return candidate
}
