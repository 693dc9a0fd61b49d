// The names of temporary files: given once, known again, and told apart by the process that gave them.
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { isLeftover, isOfThisProcess, processName, temporaryName } from '../../../src/engine/files/temporary-names.ts'

t.test('no name is given twice, and each is known as one of this process, which lives', async (t) => {
  const names = Array.from({ length: 100_000 }, () => [temporaryName(), `-${processName()}`]).flat()
  t.equal(new Set(names).size, names.length)
  t.ok(names.every(isOfThisProcess))
  t.notOk(names.some(isLeftover))
})

t.test('names of a process that has ended are known as left over, and not as those of this one', async (t) => {
  const pid = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }))
  const ended = (name: string) => name.replace(`-${process.pid}-`, `-${pid}-`)
  for (let count = 0; count < 1000; count += 1) {
    const file = ended(temporaryName())
    if (!isLeftover(file) || isOfThisProcess(file)) t.fail(file)
  }
  t.ok(isLeftover('.async-crud-mcp-4194999-a-0123456789abcdef.tmp'), 'and those that earlier versions gave')
})
