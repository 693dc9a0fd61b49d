// Prepares the project, then runs one compiled program in this very process, so that signals and stdio are its own.
// usage: node scripts/run.mjs <file below dist> [arguments...]   or   node scripts/run.mjs --build-only
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, projectRoot } from './prepare.mjs'

const [program, ...args] = process.argv.slice(2)
prepare()
if (program !== '--build-only') {
  const path = join(projectRoot, 'dist', program)
  process.argv = [process.argv[0], path, ...args]
  await import(pathToFileURL(path).href)
}
