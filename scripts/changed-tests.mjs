// Which test files a change can reach: those whose imports lead to a changed file, or name one that is not imported, such as a page.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { projectRoot } from './prepare.mjs'

/** @param names of test files, below `test` and without `.test.ts` @returns those that reach what differs from main */
export function changedTests(names) {
  const changed = changedFiles()
  const filesOf = new Map()
  return names.filter((name) => {
    const reached = reach(join(projectRoot, 'test', `${name}.test.ts`), filesOf)
    return changed.some((path) => reached.has(join(projectRoot, path)) || isNamed(path, reached, filesOf))
  })
}

/** Since this branch has left main, and what is not committed yet. */
function changedFiles() {
  const base = hasMain() ? git('merge-base', 'HEAD', 'main')[0] : 'HEAD'
  return [...git('diff', '--name-only', '--relative', base), ...git('ls-files', '--others', '--exclude-standard')]
}

function hasMain() {
  try {
    return git('rev-parse', '--verify', '--quiet', 'main').length === 1
  } catch {
    return false
  }
}

function git(...args) {
  const output = execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return output.split('\n').filter((line) => line !== '')
}

/** All files that a file imports, over any number of steps, and the file itself. */
function reach(first, filesOf) {
  const reached = new Set([first])
  for (const path of reached) for (const next of read(path, filesOf).imports) reached.add(next)
  return reached
}

function read(path, filesOf) {
  const known = filesOf.get(path)
  if (known !== undefined) return known
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const found = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
  const file = { text, imports: found.map(([, target]) => resolve(dirname(path), target)) }
  filesOf.set(path, file)
  return file
}

/** Named by a test or its fixtures, as seen from the project. */
function isNamed(path, reached, filesOf) {
  if (path.endsWith('.ts')) return false
  const isTest = (file) => relative(projectRoot, file).startsWith(`test${sep}`)
  return [...reached].some((file) => isTest(file) && read(file, filesOf).text.includes(path))
}
