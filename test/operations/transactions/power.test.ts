// Power cuts in the middle of a transaction, on a file system of their own: all or none; and without the sync of the record, not always.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { cannotInject, withFaultsOfKinds } from '../../fixtures/inject.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

t.setTimeout(3_600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const random = createRandom(seed)
const cuts = lengthOf({ long: 60, full: 10, short: 0 })

const names = ['a', 'b/b', 'c/c', 'd/d', 'e/e']
/**
 * Cuts at a word, or once the first file is renamed. Then another program's sync has put that on the disk, and nothing after it.
 * The call is one of the ext4 driver: forgets all that is not on the disk, at once. EXT4_GOING_FLAGS_NOLOGFLUSH is 2.
 */
const cutter = `import fcntl,os,struct,sys
root,when=sys.argv[1:]
fd=os.open(root,os.O_RDONLY)
other=os.open(root+'/other',os.O_CREAT|os.O_RDWR)
os.fsync(other)
print('ready',flush=True)
if when=='between renames':
  while open(root+'/a').read()=='old\\n': pass
  os.utime(other)
  os.fsync(other)
else: sys.stdin.readline()
fcntl.ioctl(fd,0x8004587d,struct.pack('I',2))
os._exit(0)`

type Moment = number | 'between renames'

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args)
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${String(stderr)}`)
}

/** @returns a word for what is there afterwards */
async function cut(t: Test, moment: Moment, isRecordSynced: boolean): Promise<string> {
  const { root: folder } = makeTree(t)
  const [image, root] = [join(folder, 'disk'), join(folder, 'tree')]
  mkdirSync(root)
  run('truncate', '-s', '24M', image)
  run('mkfs.ext4', '-q', image)
  run('mount', '-o', 'loop', image, root)
  t.teardown(() => spawnSync('umount', ['-l', root]))
  for (const name of names) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), 'old\n')
  }
  run('sync', '-f', root)
  const environment = { ASYNC_CRUD_MCP_CRUD__DURABILITY: 'full' }
  const program = startStdio(t, ['--transport', 'stdio', '--dir', root], { environment })
  await program.call('async_read', { path: 'a' })
  const changes = names.map((path) => ({ operation: 'update', path, expected_hash: hashOf('old\n'), content: 'new\n' }))
  const power = spawn('python3', ['-c', cutter, root, String(moment)], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(power.stdout, 'data')
  const perform = async () => {
    program.send({ jsonrpc: '2.0', id: 'it', method: 'async_transaction', params: { changes } })
    const isOff = once(power, 'exit').then(() => false)
    const answered = program.answer('it').then(
      () => true,
      () => false
    )
    if (moment === 'between renames') return Promise.race([answered, isOff])
    const isAnswered = await Promise.race([answered, delay(moment, false)])
    power.stdin.end('now\n')
    await isOff
    return isAnswered
  }
  // What is slowed down leaves time for a cut; the sync of the record alone is an fdatasync.
  const slow = moment === 'between renames' ? ['rename'] : ['fsync', ...(isRecordSynced ? ['fdatasync'] : [])]
  const skipped = isRecordSynced ? [] : [[['fdatasync'], 'retval=0'] as const]
  const ms = moment === 'between renames' ? 100 : 15
  const faults = [[slow, `delay_exit=${ms * 1000}`] as const, ...skipped]
  const isAnswered = await withFaultsOfKinds(program.process.pid as number, faults, perform)
  await program.end('SIGKILL')
  run('umount', '-l', root)
  run('mount', '-o', 'loop', image, root)
  const next = startStdio(t, ['--transport', 'stdio', '--dir', root], { environment })
  await next.call('async_status', { path: 'a' })
  const found = names.map((name) => readFileSync(join(root, name), 'utf8'))
  await next.end()
  run('umount', '-l', root)
  const isNew = found.every((text) => text === 'new\n')
  if (isAnswered && !isNew) return 'lost'
  return isNew ? 'all' : found.every((text) => text === 'old\n') ? 'none' : 'half'
}

const cannotCut = process.getuid?.() === 0 ? cannotInject : 'needs root, for a file system of its own'

t.test(
  `${2 * cuts} power cuts leave all or none (TEST_SEED=${seed})`,
  { skip: cuts === 0 ? 'only in full form' : cannotCut },
  async (t) => {
    const counts: Record<string, number> = {}
    for (let number = 0; number < 2 * cuts; number += 1) {
      const moment = number % 2 === 0 ? random() * 450 : 'between renames'
      const found = await cut(t, moment, true)
      const kind = `${found}, ${typeof moment === 'string' ? moment : 'anywhere'}`
      counts[kind] = (counts[kind] ?? 0) + 1
      t.ok(['all', 'none'].includes(found), `after ${moment}: ${found}`)
    }
    t.comment(JSON.stringify(counts))
  }
)

t.test(
  'without the sync of the record the cuts between the renames leave half, so that they are real',
  { skip: cuts === 0 ? 'only in full form' : cannotCut },
  async (t) => {
    const counts: Record<string, number> = {}
    for (let number = 0; number < cuts && counts['half'] === undefined; number += 1) {
      const found = await cut(t, 'between renames', false)
      counts[found] = (counts[found] ?? 0) + 1
    }
    t.comment(JSON.stringify(counts))
    t.ok((counts['half'] ?? 0) > 0)
  }
)
