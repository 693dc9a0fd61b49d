// A copy of what was built, with a fault in it: a check that finds nothing there shows nothing.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '../prepare.mjs'

/** Of `dist`: the program, and the tests. */
const copied = ['main.cjs', 'worker.cjs', 'thread.cjs', 'chunks', 'suites']
const notLinked = ['dist', '.git', '.prepare']
/** The program, and the modules that test files share. */
const places = ['chunks', join('suites', 'chunks')]

/**
 * @param edits in each file that has the first text it is replaced by the second. @returns the folder
 * @throws Error if nothing has the text
 */
export function makeFaultyCopy(edits) {
  const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-faulty-'))
  for (const name of readdirSync(projectRoot).filter((each) => !notLinked.includes(each)))
    symlinkSync(join(projectRoot, name), join(folder, name))
  const dist = join(folder, 'dist')
  mkdirSync(dist)
  for (const name of readdirSync(join(projectRoot, 'dist'))) {
    const [from, to] = [join(projectRoot, 'dist', name), join(dist, name)]
    if (copied.includes(name)) cpSync(from, to, { recursive: true })
    else symlinkSync(from, to)
  }
  for (const [from, to] of edits)
    for (const path of filesWith(from, dist))
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replaceAll(from, () => to)
      )
  return folder
}

/** @returns paths. @throws Error if the program, or what the test files share, does not have the text */
export function filesWith(text, dist = join(projectRoot, 'dist')) {
  return places.flatMap((place) => {
    const names = readdirSync(join(dist, place)).filter((name) => name.endsWith('.cjs'))
    const found = names
      .map((name) => join(dist, place, name))
      .filter((path) => readFileSync(path, 'utf8').includes(text))
    if (found.length === 0)
      throw new Error(`no file of dist/${place} has ${text}: scripts/prove/claims.mjs must name what it is now`)
    return found
  })
}
