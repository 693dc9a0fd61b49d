// What killed processes have left in the temporary folder goes when a server starts, and nothing else does.
import { existsSync, mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

t.test('a server removes folders that a killed process has left for long', async (t) => {
  const [{ root: temporary }, { root }] = [makeTree(t, {}), makeTree(t, { f: 'x' })]
  const make = (name: string, ageHours: number) => {
    const path = join(temporary, name)
    mkdirSync(join(path, 'info'), { recursive: true })
    const time = Date.now() / 1000 - ageHours * 3600
    utimesSync(path, time, time)
    return path
  }
  const left = make('async-crud-mcp-scratch-aaaaaa', 2)
  const [inUse, foreign] = [make('async-crud-mcp-scratch-bbbbbb', 0.5), make('other-scratch-cccccc', 2)]
  await startProgram(t, ['--dir', root], { TMPDIR: temporary, TEMP: temporary })
  await until(() => !existsSync(left))
  t.same([inUse, foreign].map(existsSync), [true, true])
})
