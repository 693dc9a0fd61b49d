// What Stryker's results say: which mutants live although no reason is given, and which reasons are for no mutant.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * @param results Stryker's
 * @param survivors of the files that were mutated, as survivors.mjs has them
 * @returns lines to print, and how many mutants and reasons are as they must be, and how many not
 */
export function judgeMutants(results, survivors, read = (path) => readFileSync(path, 'utf8')) {
  const unused = new Set(survivors)
  const alive = results.filter(({ status }) => status !== 'Killed' && status !== 'Timeout')
  const unknown = alive.filter((mutant) => {
    const reasons = survivors.filter((each) => isReasonFor(each, mutant, read(mutant.fileName)))
    for (const reason of reasons) unused.delete(reason)
    return reasons.length === 0
  })
  return {
    lines: [
      ...unknown.map((mutant) => `lives: ${describe(mutant, read(mutant.fileName))}`),
      ...Array.from(
        unused,
        ({ file, code, becomes }) =>
          `scripts/mutants/survivors.mjs names what does not live: ${file}: ${code}  =>  ${becomes}`
      ),
      `${results.length} mutants: ${results.length - alive.length} died, ${alive.length - unknown.length} live for a reason`
    ],
    passed: results.length - unknown.length,
    failed: unknown.length + unused.size
  }
}

/** The mutated text lies within the code of the reason, whatever the white space. */
function isReasonFor({ file, code, becomes }, { fileName, location, replacement }, text) {
  if (basename(fileName) !== `${file}.ts` || bare(becomes) !== bare(replacement)) return false
  const [all, part] = [bare(text), bare(code)]
  const [start, end] = [location.start, location.end].map(
    (position) => bare(text.slice(0, offsetOf(text, position))).length
  )
  for (let at = all.indexOf(part); at !== -1; at = all.indexOf(part, at + 1))
    if (at <= start && end <= at + part.length) return true
  return false
}

function describe({ fileName, location, replacement, status }, text) {
  const mutated = text.slice(offsetOf(text, location.start), offsetOf(text, location.end))
  const [before, after] = [mutated, replacement].map((each) => each.replaceAll(/\s+/g, ' ').trim())
  const why = status === 'Survived' ? '' : ` (${status})`
  return `src/engine/locks/${basename(fileName)}:${location.start.line}: ${before}  =>  ${after}${why}`
}

const bare = (text) => text.replaceAll(/\s/g, '')

/** @param position counted from 1 */
function offsetOf(text, { line, column }) {
  const before = text.split('\n').slice(0, line - 1)
  return before.reduce((sum, each) => sum + each.length + 1, column - 1)
}
