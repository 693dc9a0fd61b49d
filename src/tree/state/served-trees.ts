// The roots that processes of this user serve, so that a server of an outer folder finds those inside it without a walk through all of it.
// No failure here matters: this only helps to find a mistake of those who start the servers.
import { lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { lazyCrypto } from '../../support/lazy-crypto.ts'
import { makeFolder } from '../../support/make-folder.ts'
import { below } from '../../support/relocate.ts'
import { readText } from '../../support/read-text.ts'

const prefix = 'served-'

/** A folder of this user below the temporary folder. @returns undefined if another user has put something in its place */
export function userFolder(): string | undefined {
  const user = process.getuid?.()
  // Windows has no user ids; its temporary folder belongs to the user alone.
  const folder = join(tmpdir(), user === undefined ? 'async-crud-mcp' : `async-crud-mcp-${user}`)
  makeFolder(folder)
  const stat = lstatSync(folder)
  const isOwn = user === undefined || (stat.uid === user && (stat.mode & 0o077) === 0)
  return stat.isDirectory() && isOwn ? folder : undefined
}

/** This process serves these roots. Without a place for that, others do not find them. */
export function enterServed(roots: readonly string[]): void {
  attempt(() => {
    const folder = userFolder()
    for (const root of roots) if (folder !== undefined) writeFileSync(fileOf(folder, root), root, { mode: 0o600 })
  })
}

/** Call it before another process can enter them. */
export function leaveServed(roots: readonly string[]): void {
  attempt(() => {
    const folder = userFolder()
    for (const root of roots) if (folder !== undefined) rmSync(fileOf(folder, root), { force: true })
  })
}

/** Roots inside this one that were served, and may be still. @param isGone tells of a root that no process serves any more */
export function servedInside(root: string, isGone: (inner: string) => boolean): string[] {
  const found: string[] = []
  attempt(() => {
    const folder = userFolder()
    if (folder === undefined) return
    for (const name of readdirSync(folder)) {
      if (!name.startsWith(prefix)) continue
      attempt(() => {
        const inner = readText(join(folder, name))
        if (isGone(inner)) rmSync(join(folder, name), { force: true })
        else if (inner !== root && below(root, inner) !== undefined) found.push(inner)
      })
    }
  })
  return found
}

function fileOf(folder: string, root: string): string {
  return join(folder, prefix + lazyCrypto().createHash('sha256').update(root).digest('hex').slice(0, 16))
}
