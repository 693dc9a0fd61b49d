// Has the histories judged by a checker that is not ours, if Go is there: https://github.com/anishathalye/porcupine
import { spawnSync } from 'node:child_process'
import { copyFileSync, appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '../prepare.mjs'

const checker = join(projectRoot, 'scripts', 'prove', 'porcupine')
const whenAll = '99999999999999'
/** Long after all else a new process sees the first version: no history of a file that was changed may end so. */
const staleRead = ['invoke', 'ok']
  .map((type) => `{:process 1000, :type :${type}, :f :read, :value ${type === 'ok' ? 0 : 'nil'}, :time ${whenAll}}\n`)
  .join('')

/** @param folder of the histories @returns the words of its line in the table, and what Porcupine has said */
export function checkByPorcupine(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.edn'))
  const scratch = mkdtempSync(join(tmpdir(), 'async-crud-mcp-stale-'))
  try {
    const sound = judge(files.map((name) => join(folder, name)))
    if (sound.trouble !== undefined) return { check: sound.trouble, control: sound.trouble, said: '' }
    const stale = files.map((name) => {
      copyFileSync(join(folder, name), join(scratch, name))
      appendFileSync(join(scratch, name), staleRead)
      return judge([join(scratch, name)])
    })
    const isNoticed = stale.every(({ isLinearizable }) => isLinearizable === false)
    return {
      check: sound.isLinearizable ? 'held' : 'FAILED',
      control: isNoticed ? 'failed' : 'PASSED',
      said: sound.said
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function judge(paths) {
  const {
    error,
    stdout = '',
    stderr = ''
  } = spawnSync('go', ['run', '.', ...paths], {
    cwd: checker,
    encoding: 'utf8'
  })
  if (error !== undefined) return { trouble: 'not run: needs Go' }
  const verdicts = stdout.match(/linearizable: (?:true|false)/g) ?? []
  if (verdicts.length < paths.length) return { trouble: `not run: ${stderr.trim().split('\n').at(-1)}` }
  return { isLinearizable: verdicts.every((verdict) => verdict.endsWith('true')), said: stdout.trim() }
}
