// Prepares the project, then runs one compiled program in this very process, so that signals and stdio are its own.
// usage: node scripts/run.mjs <file below dist> [arguments...]   or   node scripts/run.mjs --build-only
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fail, prepare, projectRoot } from './prepare.mjs'

const parent = process.ppid
const [program, ...args] = process.argv.slice(2)
prepare()
if (program !== '--build-only') {
  if (process.env.npm_lifecycle_event !== undefined) behaveUnderNpm()
  const path = join(projectRoot, 'dist', program)
  process.argv = [process.argv[0], path, ...args]
  await import(pathToFileURL(path).href)
}

/** Folders are meant from where npm was called. And what was prepared for an npm that has gone meanwhile is not wanted any more. */
function behaveUnderNpm() {
  if (process.ppid !== parent) process.exit(1)
  try {
    process.chdir(process.env.INIT_CWD ?? process.cwd())
  } catch (error) {
    fail(`the folder that npm was called from cannot be used: ${error.message}`)
  }
}
