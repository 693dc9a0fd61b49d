// The folder where hosts make changes ready: the next authority takes it from the one before.
import { linkSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { isErrno } from '../../errors.ts'
import { entryAt } from '../../support/is-there.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { isSameFile } from '../../support/same-file.ts'
import type { Directory } from '../files/directory.ts'
import { ownFolder, temporaryName } from '../files/temporary-names.ts'
import { endEarlierRename } from './earlier-notes.ts'

export type Own = Pick<Directory, 'at'>

/** In the server's own folder. */
export const stageFolder = 'stage'
const maxTries = 100

/**
 * The outer name decides which authority has the stage: a rename from one epoch to the next succeeds only once. The inner folder is each
 * epoch's own: a client of a network file system may still reach the renamed folder, but not one that was removed.
 */
export function inEpoch(epoch: number): string {
  return join(String(epoch), `of-${epoch}`)
}

/** In the stage of an authority, which may be another host. */
export function pathInStage(root: string, epoch: number, name: string): string {
  return join(root, ownFolder, stageFolder, inEpoch(epoch), name)
}

/** @returns the epoch that it was taken from. @throws Error that says what is in the way */
export function takeStage(own: Own, root: string, epoch: number): number {
  const stage = own.at(stageFolder)
  makeFirst(own)
  for (let tries = 1; ; tries += 1) {
    const found = Math.max(
      ...readdirSync(stage)
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
    )
    // The election that named this epoch is out of date, or has begun to count anew.
    if (found > epoch)
      throw new Error(
        `the stage ${join(root, ownFolder, stageFolder)} is of epoch ${found}, which comes after ${epoch}: if etcd was set up anew, stop all hosts of this tree and remove that folder`
      )
    if (
      found >= 0 &&
      (found === epoch || attempt(() => renameSync(join(stage, String(found)), join(stage, String(epoch)))))
    ) {
      const inner = join(stage, inEpoch(epoch))
      make(inner)
      try {
        emptyOthers(join(stage, String(epoch)), inner, root)
        probe(own, inner, root)
      } catch (error) {
        // This host does not serve. Not empty, it is for the next authority.
        attempt(() => rmdirSync(inner))
        throw error
      }
      return found
    }
    // Another host was faster, and may have been about to make the stage.
    if (tries === maxTries) throw new Error(`${join(root, ownFolder, stageFolder)} cannot be taken: remove that folder`)
  }
}

/** Appears whole: a host that comes late to make the first one finds that there is one. */
function makeFirst(own: Own): void {
  if (attempt(() => lstatSync(own.at(stageFolder)))) return
  const made = own.at(`${stageFolder}-${randomBytes(6).toString('hex')}`)
  mkdirSync(made, 0o700)
  mkdirSync(join(made, '0'), 0o700)
  try {
    renameSync(made, own.at(stageFolder))
  } catch (error) {
    rmdirSync(join(made, '0'))
    rmdirSync(made)
    if (!isErrno(error, 'EEXIST', 'ENOTEMPTY')) throw error
  }
}

/** Of all earlier epochs. Those that hosts left which could not serve go first: one that cannot be emptied must not keep them. */
function emptyOthers(folder: string, kept: string, root: string): void {
  const others = readdirSync(folder).filter((name) => name !== basename(kept))
  const full = others.filter((name) => !attempt(() => rmdirSync(join(folder, name))))
  for (const name of full) empty(join(folder, name), kept, root)
}

/** Keeps what is made ready. What a late writer adds meanwhile goes too: then it has no folder. */
function empty(folder: string, kept: string, root: string): void {
  for (let tries = 1; !attempt(() => rmdirSync(folder)); tries += 1) {
    if (tries === maxTries) throw new Error(`${folder} cannot be emptied: remove it`)
    const names = readdirSync(folder)
    for (const name of names.filter((other) => other.endsWith('.json'))) endEarlierRename(folder, name, root)
    for (const name of names) attempt(() => move(join(folder, name), join(kept, name)))
  }
}

/** A rename from one name of a file to another one leaves both. GlusterFS gives a file its former name back if it puts the folder right later. */
function move(from: string, to: string): void {
  if (isSameFile(entryAt(from), entryAt(to))) unlinkSync(from)
  else renameSync(from, to)
}

/** Refuses a volume on which a late writer could not be kept out, or whose files could not be replaced. */
function probe(own: Own, folder: string, root: string): void {
  const [one, other] = [temporaryName(), temporaryName()]
  try {
    replaceFile(own.at(one), '', { isDurable: false, temporary: join(folder, one) })
    linkSync(own.at(one), own.at(other))
  } catch (error) {
    throw new Error(
      `several hosts cannot serve ${root}: its file system must rename between folders and make hard links (${String(error)})`,
      { cause: error }
    )
  } finally {
    for (const name of [one, other]) attempt(() => unlinkSync(own.at(name)))
  }
}

function make(folder: string): void {
  try {
    mkdirSync(folder, 0o700)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}
