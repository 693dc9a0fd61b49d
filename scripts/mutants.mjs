// Puts small faults into the lock manager, one at a time: each must be noticed by a check of test/harness/locks/lock-checks.ts.
// usage: npm run mutants [-- <file of src/engine/locks, without extension> ...]     scripts/mutants/survivors.mjs names those that are not
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { judgeMutants } from './mutants/judge.mjs'
import { survivors } from './mutants/survivors.mjs'
import { prepare, projectRoot } from './prepare.mjs'

/** 64 MB in 166 packages: too much for each start of the server from a clone. */
const packages = ['@stryker-mutator/core@9.6.1']
const locks = 'src/engine/locks'

prepare()
process.chdir(projectRoot)
const stryker = await loadStryker()
if (stryker === undefined) {
  console.log(
    `skipped: the mutants. ${packages.join()} could not be installed from npm: npm run mutants, with a network, does so.`
  )
} else {
  const chosen = process.argv.slice(2)
  const results = await new stryker.Stryker(options(chosen)).runMutationTest()
  const { lines, passed, failed } = judgeMutants(
    results,
    survivors.filter(({ file }) => chosen.length === 0 || chosen.includes(file))
  )
  for (const line of lines) console.log(line)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

async function loadStryker() {
  const compiled = pathToFileURL(join(projectRoot, 'dist/scripts/install-packages.js')).href
  const { installPackages, packagesFolder } = await import(compiled)
  const folder = packagesFolder('stryker', packages)
  try {
    await installPackages(folder, packages)
  } catch {
    return undefined
  }
  return import(pathToFileURL(join(folder, 'node_modules/@stryker-mutator/core/dist/src/index.js')).href)
}

function options(chosen) {
  const files = chosen.length > 0 ? chosen : ['*']
  return {
    mutate: files.map((file) => `${locks}/${file}.ts`),
    plugins: [join(projectRoot, 'scripts/mutants/lock-runner.mjs')],
    testRunner: 'locks',
    coverageAnalysis: 'perTest',
    checkers: [],
    reporters: ['progress-append-only'],
    logLevel: 'warn',
    allowConsoleColors: process.stdout.isTTY === true,
    // Stryker's copy of the sources, in which packages are found as here.
    tempDirName: 'node_modules/.cache/mutants',
    ignorePatterns: ['**', `!${locks}/**`],
    symlinkNodeModules: false,
    // For an endless loop in which the runner counts no step; long, so that it ends nothing else on a busy machine.
    timeoutMS: 60_000,
    allowEmpty: false
  }
}
