// The layers of isolated commands, in the server's own folder: what such a command writes, apart from the tree until all of it is taken over.
import type { OwnFolder } from '../files/directory.ts'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { chmod, readdir, rmdir, unlink } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { isRunning, startOf } from '../../support/process-identity.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { ownFolder, temporaryName } from '../files/temporary-names.ts'
import type { Root } from '../files/roots.ts'
import { readText } from '../../support/read-text.ts'

/** What was at a path when the command had ended. */
export type FoundState = null | { readonly hash: string } | { readonly link: string }

export interface Found {
  readonly state: FoundState
  /** When it had last changed (ctime), in milliseconds since the epoch; undefined if nothing was there. */
  readonly changedAt?: number | undefined
}

export interface LayerEnd {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly exitCode: number
  /** Number of the log at the end. */
  readonly seq: number
  /** True if the clock was set back while the command ran: then times say nothing. */
  readonly isClockSetBack: boolean
  /** Folders of which nothing is left that was in them before. */
  readonly hidden: readonly string[]
  /** By canonical path, of all paths that the command has written or removed, ignored ones apart. */
  readonly found: Readonly<Record<string, Found>>
}

/** What is written down of a layer. */
interface LayerRecord {
  readonly command: string
  readonly agentId?: string | undefined
  readonly changeSet?: string | undefined
  /** Milliseconds since the epoch. */
  readonly beganAt: number
  /** Number of the log at the start. */
  readonly seq: number
  /** Real paths. */
  readonly roots: readonly string[]
  /** The process that runs the command. */
  readonly pid: number
  readonly pidStart: string | null
  /** Least difference between the clock and the time since the boot, in milliseconds. */
  readonly clock: number
}

export interface Layer extends LayerRecord {
  readonly id: string
  readonly folder: string
  /** When it began by the clock of the file system, in milliseconds. */
  readonly startedAt: number
  /** Device of that file system. */
  readonly dev: bigint
  /** Undefined while the command runs. */
  readonly end: LayerEnd | undefined
}

/** In the server's own folder. */
export const layersFolder = 'layers'
const recordName = 'layer.json'
const endName = 'end.json'
const keepMs = 7 * 24 * 3_600_000
const idPattern = /^[0-9a-f]{8}$/

export type Layers = ReturnType<typeof createLayers>

export function createLayers(roots: readonly Root[], openOwn: (root: Root) => OwnFolder) {
  const first = roots[0]
  const place = join(first?.real ?? '', ownFolder, layersFolder)
  const at = (id: string) => join(place, id)

  function begin(facts: Omit<LayerRecord, 'beganAt' | 'roots' | 'pidStart' | 'clock'>): Layer {
    if (first === undefined) throw new Error('There is no root to lay a layer over.')
    openOwn(first).hold().close()
    const id = randomBytes(4).toString('hex')
    const folder = at(id)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const [index, { real }] of roots.entries()) {
      for (const name of ['upper', 'work', 'lower']) mkdirSync(join(folder, String(index), name), { recursive: true })
      // The overlay shows the root with the mode of this folder.
      chmodSync(join(folder, String(index), 'upper'), statSync(real).mode & 0o7777)
    }
    const pidStart = startOf(facts.pid)
    const beganAt = Date.now()
    const record = { ...facts, pidStart, beganAt, clock: beganAt - sinceBoot(), roots: roots.map(({ real }) => real) }
    writeFileSync(join(folder, recordName), JSON.stringify(record), { mode: 0o600 })
    return read(id) as Layer
  }

  function read(id: string): Layer | undefined {
    if (!idPattern.test(id)) return undefined
    const folder = at(id)
    return orUndefined(() => {
      const path = join(folder, recordName)
      const record = JSON.parse(readText(path)) as LayerRecord
      // Written once, right when the layer was made.
      const { ctimeNs, dev } = statSync(path, { bigint: true })
      const startedAt = Number(ctimeNs / 1_000_000n)
      const end = orUndefined(() => JSON.parse(readText(join(folder, endName))) as LayerEnd)
      return { ...record, id, folder, startedAt, dev, end }
    })
  }

  function list(): Layer[] {
    const ids = orUndefined(() => readdirSync(place)) ?? []
    return ids
      .map(read)
      .filter((layer) => layer !== undefined)
      .sort((one, other) => one.beganAt - other.beganAt)
  }

  async function drop(id: string): Promise<void> {
    if (idPattern.test(id) && existsSync(at(id))) await removeAll(Buffer.from(at(id)))
  }

  return {
    begin,
    /** Undefined if there is no such layer. */
    read,
    /** The oldest first. */
    list,
    end({ folder, clock }: Layer, facts: Omit<LayerEnd, 'at' | 'isClockSetBack'>): void {
      // In this order a pause between the two looks like no change of the clock.
      const boot = sinceBoot()
      const at = Date.now()
      const end: LayerEnd = { ...facts, at, isClockSetBack: at - boot < clock - roundingMs }
      replaceFile(join(folder, endName), JSON.stringify(end), {
        isDurable: false,
        temporary: join(folder, temporaryName())
      })
    },
    drop,
    /** Removes layers that are too old, and those of processes that were killed while their commands ran. */
    async sweep(): Promise<void> {
      const ids = orUndefined(() => readdirSync(place)) ?? []
      for (const id of ids) {
        const layer = read(id)
        const isOver =
          layer === undefined
            ? isOldFolder(at(id))
            : layer.end === undefined
              ? !isRunning(layer.pid, layer.pidStart)
              : layer.end.at < Date.now() - keepMs
        // What cannot be removed now is tried again at the next sweep.
        if (isOver) await drop(id).catch(() => {})
      }
    }
  }
}

/** Of the difference of two clocks, taken twice. */
const roundingMs = 2

/** Milliseconds, by a clock that nobody sets. */
const sinceBoot = () => Number(process.hrtime.bigint() / 1_000_000n)

/** Of which nothing is written down: one that is just made, or what is left of one. */
function isOldFolder(folder: string): boolean {
  const stat = orUndefined(() => statSync(folder))
  return stat !== undefined && stat.mtimeMs < Date.now() - keepMs
}

/** With folders that the command, or the overlay itself, has closed to their own user. */
async function removeAll(folder: Buffer): Promise<void> {
  await chmod(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const path = Buffer.concat([folder, Buffer.from('/'), entry.name])
    if (entry.isDirectory()) await removeAll(path)
    else await unlink(path)
  }
  await rmdir(folder)
}
