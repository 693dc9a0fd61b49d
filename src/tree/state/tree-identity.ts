// The identity of a tree that several hosts serve: a small file in its own folder, made once by the host that comes first.
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import type { StateDirectory } from './state-directory.ts'
import { parseFields } from '../../support/json-fields.ts'

const fileName = 'tree.json'

/** Undefined if one host serves the tree. @throws Error that says what is in the way */
export function readTreeIdentity(directory: StateDirectory): string | undefined {
  const text = directory.read(fileName)
  if (text === undefined) return undefined
  const id = parse(text)
  if (id !== undefined) return id
  throw new Error(
    `${join(directory.path, fileName)} does not name the tree: stop all hosts of this tree, remove the file, and start them again`
  )
}

/** The identity that the tree has, or gets now. @throws Error that says what is in the way */
export function ensureTreeIdentity(directory: StateDirectory): string {
  const known = readTreeIdentity(directory)
  if (known !== undefined) return known
  const own = directory.hold()
  const temporary = own.at(`${fileName}.${randomBytes(6).toString('hex')}`)
  try {
    writeFileSync(temporary, `${JSON.stringify({ version: 1, id: randomUUID(), coordinator: 'etcd' })}\n`, {
      flag: 'wx',
      mode: 0o600,
      flush: true
    })
    // Unlike a rename, this fails if another host was faster.
    linkSync(temporary, own.at(fileName))
    own.syncNow()
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    rmSync(temporary, { force: true })
    own.close()
  }
  const id = readTreeIdentity(directory)
  if (id === undefined) throw new Error(`${join(directory.path, fileName)} was removed while it was made: start again`)
  return id
}

function parse(text: string): string | undefined {
  const { version, id } = parseFields(text) ?? {}
  return version === 1 && typeof id === 'string' && /^[\w-]{8,64}$/.test(id) ? id : undefined
}
