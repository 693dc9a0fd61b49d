// What Node has compiled of the program is kept beside it, and trusted only as it was written.
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import Module from 'node:module'
import t from 'tap'
import { copyProgram } from '../../fixtures/installation.ts'

const hasOwnCache = 'enableCompileCache' in Module

/** Each kept file below the folder, with what tells whether it has been written anew. */
function keptIn(folder: string): Map<string, string> {
  const paths = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    statSync(`${folder}/${name}`).isFile()
  )
  return new Map(
    paths.map((name) => {
      const { ino, mtimeNs } = statSync(`${folder}/${name}`, { bigint: true })
      return [name, `${ino} ${mtimeNs}`]
    })
  )
}

t.test('the second start uses what the first one has compiled, and compiles anew what is damaged', async (t) => {
  const program = copyProgram(t)
  const folder = program.path('dist/compiled')
  // Where all programs of somebody keep theirs.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const run = () => execFileSync(process.execPath, [program.main, 'config', 'schema'], { encoding: 'utf8', env })
  const output = run()
  const first = keptIn(folder)
  t.ok(first.size > 5)
  t.equal(run(), output)
  t.strictSame(keptIn(folder), first, 'nothing had to be compiled')
  const [emptied, shortened, changed] = [...first.keys()].sort() as [string, string, string]
  writeFileSync(`${folder}/${emptied}`, '')
  const bytes = program.bytes(`dist/compiled/${shortened}`)
  writeFileSync(`${folder}/${shortened}`, bytes.subarray(0, bytes.length / 2))
  const flipped = program.bytes(`dist/compiled/${changed}`)
  flipped[flipped.length >> 1]! ^= 0xff
  writeFileSync(`${folder}/${changed}`, flipped)
  const damaged = keptIn(folder)
  t.equal(run(), output)
  if (hasOwnCache) return
  const after = keptIn(folder)
  const anew = [...after.keys()].filter((name) => after.get(name) !== damaged.get(name))
  t.strictSame(anew.sort(), [emptied, shortened, changed].sort())
})

t.test('where nothing can be kept, the program runs all the same', (t) => {
  const program = copyProgram(t)
  program.write('dist/compiled', 'in the way')
  t.match(execFileSync(process.execPath, [program.main, '--version'], { encoding: 'utf8' }), /^\d+\.\d+\.\d+\n$/)
  t.equal(program.read('dist/compiled'), 'in the way')
  t.end()
})
