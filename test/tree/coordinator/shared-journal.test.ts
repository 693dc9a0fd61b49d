// A record in the journal of several hosts is on the volume once its write is over: a host may be lost right after it has answered.
import t from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createJournal } from '../../../src/tree/persistence/journal.ts'
import { toJson } from '../../../src/tree/persistence/records.ts'
import { until } from '../../fixtures/until.ts'
import { makeVolumeOnGluster, whyNotOnGluster } from './fixtures/volumes.ts'

/** So long the servers of the volume answer nothing: shorter than their clients wait for them. */
const silentMs = 1000
const { APPEND_TO: path, APPEND_SHARED: isShared } = process.env

if (path === undefined) playAll()
else {
  // The program that is tested: this file once more, since a write blocks it.
  const journal = createJournal(path, '/tree', { isShared: isShared === 'true' })
  journal.open()
  process.stdout.write('opened\n')
  process.stdin.once('data', () => {
    journal.append([toJson('lease', { fencingToken: 1 })])
    process.stdout.write('appended\n')
    process.stdin.destroy()
  })
}

function playAll(): void {
  t.setTimeout(120_000)
  for (const isShared of [true, false])
    t.test(`several hosts share it: ${isShared}`, { skip: whyNotOnGluster() }, async (t) => {
      const { mounts, bricks } = await makeVolumeOnGluster(t, { files: {}, clients: [{}] })
      const env = { ...process.env, APPEND_TO: join(mounts[0]!.tree.root, 'journal'), APPEND_SHARED: String(isShared) }
      const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? ''], { env, stdio: 'pipe' })
      t.teardown(() => child.kill('SIGKILL'))
      let said = ''
      child.stdout.on('data', (text: Buffer) => (said += text.toString()))
      await until(() => said.includes('opened'))
      for (const brick of bricks) brick.stop()
      child.stdin.write('go on\n')
      const stoppedAt = performance.now()
      await until(() => said.includes('appended') || performance.now() > stoppedAt + silentMs)
      t.equal(said.includes('appended'), !isShared, 'it is answered before any server of the volume has it')
      for (const brick of bricks) brick.goOn()
      await once(child, 'exit')
      t.match(said, 'appended')
    })
}
