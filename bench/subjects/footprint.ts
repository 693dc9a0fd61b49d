// What the server takes of memory and disk: the figures held in place of FES 4.1's 5 MB idle and 10 MB static binary.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeTree } from '../../test/fixtures/tree.ts'
import { openRest } from './editing-doors.ts'
import { runLoad } from '../load/load.ts'
import { withOwner } from '../owner.ts'
import { residentMb } from '../process-use.ts'
import { sourceText } from '../sources.ts'
import { figure, type Row } from '../table.ts'
import { installed } from '../../src/support/installation.ts'

const megabyte = 1_048_576
const idleMs = 10_000
/** Of reading 1 MB, ten at once. */
const burstMs = 3000

export const memoryHead = ['resident memory', 'MB', 'bare process MB', 'FES target MB']

export function memoryRows(): Promise<Row[]> {
  return withOwner(async (owner) => {
    const names = Array.from({ length: 10 }, (_, index) => `file-${index}.ts`)
    const { root } = makeTree(owner, Object.fromEntries(names.map((name) => [name, sourceText(megabyte)])))
    const bare = spawn(process.execPath, ['-e', "require('node:http').createServer().listen(0, () => console.log(1))"])
    owner.teardown(() => bare.kill())
    await once(bare.stdout, 'data')
    const door = await openRest(owner, root)
    const row = (what: string): Row => [what, figure(residentMb(door.pid)), figure(residentMb(bare.pid)), '5.00']
    const rows = [row('just started')]
    await delay(idleMs)
    rows.push(row('after 10 s idle'))
    for (const burst of ['a first burst', 'a second burst']) {
      // New connections each time: the server closes one that stays silent.
      const calls = await Promise.all(names.map(() => door.connect()))
      await runLoad(
        calls.map((call, index) => () => call('read_file', { name: names[index] })),
        burstMs
      )
      rows.push(row(`just after ${burst}`))
      await delay(idleMs)
      rows.push(row(`10 s after ${burst}`))
    }
    return rows
  })
}

export const sizeHead = ['installed', 'MB', 'FES target MB']

const projectRoot = installed('')

export function sizeRows(): Row[] {
  const { files } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { files: string[] }
  const own = files.reduce((bytes, name) => bytes + sizeOf(join(projectRoot, name)), 0)
  const packages = productionPackages()
  const theirs = packages.reduce((bytes, name) => bytes + sizeOf(join(projectRoot, name)), 0)
  const row = (what: string, bytes: number, target: string): Row => [what, figure(bytes / megabyte), target]
  return [
    row('our own files', own, '-'),
    row(`${packages.length} packages it needs`, theirs, '-'),
    row('together, without Node itself', own + theirs, '10.0'),
    row('Node itself', statSync(process.execPath).size, '-')
  ]
}

/** The folders of what is installed and not only for development. */
function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(join(projectRoot, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>
  }
  return Object.entries(lock.packages).flatMap(([name, { dev, devOptional }]) =>
    dev === true || devOptional === true || !existsSync(join(projectRoot, name)) ? [] : [name]
  )
}

/** Bytes of all files below, without packages nested in a package: they are listed by themselves. */
function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules' && !entry.isSymbolicLink())
    .reduce((bytes, { name }) => bytes + sizeOf(join(path, name)), 0)
}
