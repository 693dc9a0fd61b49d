// What a killed process has left is removed by the next one, which may start before anybody has collected the exit status of the first.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.test(
  'temporary files of a process that has ended are removed, though its id is still taken',
  { skip: process.platform !== 'linux' && 'Linux says so in /proc' },
  async (t) => {
    // The parent becomes another program, which never asks how its child has ended. The child ends only then: a shell would have asked.
    const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe']
    })
    t.teardown(() => parent.kill('SIGKILL'))
    const pid = Number(String((await once(parent.stdout!, 'data'))[0]))
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n')
    parent.stdio[3]!.destroy()
    await until(() => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))

    const name = (id: number) => `.async-crud-mcp-${id}-a-0123456789abcdef.tmp`
    const tree = makeTree(t, { 'a.txt': 'a\n', [`ended/${name(pid)}`]: 'cut o', [name(parent.pid!)]: 'half' })
    const { url } = await startServer(t, tree.root)
    await (await connect(t, 'rest', url, 'ann')).call('async_status', {})
    await until(() => !tree.all().includes(`ended/${name(pid)}`))
    t.ok(tree.all().includes(name(parent.pid!)), 'those of one that runs are left alone')
  }
)
