// Checks the roots: whether the server could work on them, and whether one runs there already.
import { access, constants, lstat, realpath, stat, statfs } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { createStateFile } from '../../tree/state/state-file.ts'
import { askHealth } from '../background/probe-server.ts'
import { isAnsweringAtSocket } from '../background/probe-socket.ts'
import { isRunning } from '../../support/process-identity.ts'
import { isErrno } from '../../support/errno.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { findings, type Finding } from './check.ts'

/** Of file systems whose locks and change notices reach one machine only: NFS, SMB, CIFS, SMB2, 9P. */
const networkFileSystems = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997])

/** @param isShared true if several hosts may serve them */
export async function checkRoots(roots: readonly string[], isShared: boolean): Promise<Finding[]> {
  const { warn } = findings('roots')
  if (roots.length === 0)
    return [
      warn(
        'no root is named: a server started by hand serves its working directory, a service serves none',
        'pass --dir <folder>, or set crud.base_directories (async-crud-mcp config edit)'
      )
    ]
  const found = await Promise.all(roots.map((root) => checkRoot(root, isShared)))
  return [...found.flat(), ...(await checkNesting(roots))]
}

async function checkRoot(root: string, isShared: boolean): Promise<Finding[]> {
  const { ok, warn, fail } = findings('roots')
  try {
    if (!(await stat(root)).isDirectory()) return [fail(`${root} is not a directory`, 'name the folder that holds it')]
    await access(root, constants.R_OK | constants.X_OK)
    await access(root, constants.W_OK)
    const { type } = await statfs(root)
    if (networkFileSystems.has(type) && !isShared)
      return [
        warn(
          `${root} is on a network file system`,
          'run all servers of this tree on one machine, or all with --etcd: its locks do not reach other machines'
        )
      ]
    return [ok(`${root} can be read and written`)]
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [fail(`${root} does not exist`, 'create it, or name another one')]
    if (isErrno(error, 'EROFS')) return [fail(`${root} is on a read-only file system`, 'mount it writable')]
    if (isErrno(error, 'EACCES', 'EPERM'))
      return [
        fail(
          `${root} cannot be read and written by this user`,
          'let its owner run the server, or give this user the rights'
        )
      ]
    throw error
  }
}

async function checkNesting(roots: readonly string[]): Promise<Finding[]> {
  const { fail } = findings('roots')
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)))
  return real.flatMap((inner, index) =>
    real.flatMap((outer, other) =>
      index !== other && (inner.startsWith(outer + sep) || (inner === outer && index > other))
        ? [
            fail(
              `${roots[index]} lies inside ${roots[other]}`,
              'name each tree once: the outer one already includes it'
            )
          ]
        : []
    )
  )
}

/** Checks what the server keeps in the first root. */
export async function checkState([root]: readonly string[], token: string): Promise<Finding[]> {
  if (root === undefined) return []
  const path = join(await realpath(root).catch(() => root), ownFolder)
  return [...(await checkOwnFolder(path)), ...(await checkServer(root, token))]
}

async function checkOwnFolder(path: string): Promise<Finding[]> {
  const { ok, warn, fail } = findings('state folder')
  try {
    const stat = await lstat(path)
    if (stat.isSymbolicLink())
      return [fail(`${path} is a symbolic link`, 'remove it: the server creates its own folder')]
    if (!stat.isDirectory()) return [fail(`${path} is not a directory`, 'remove it: the server creates its own folder')]
    const own = process.geteuid?.()
    if (own !== undefined && own !== 0 && stat.uid !== own && stat.uid !== 0)
      return [fail(`${path} belongs to another user (${stat.uid})`, 'remove it, or let that user run the server')]
    // Windows has no users in the modes of files.
    if (own !== undefined && (stat.mode & 0o022) !== 0)
      return [warn(`${path} can be written by other users (${(stat.mode & 0o777).toString(8)})`, `chmod 700 ${path}`)]
    return [ok(path)]
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [ok('none yet: the server creates it when needed')]
    throw error
  }
}

/** Asks the server that serves the tree, or a relay of it, whether it can do its work. */
async function checkServer(root: string, token: string): Promise<Finding[]> {
  const { ok, fail } = findings('server')
  const state = createStateFile(await realpath(root).catch(() => root)).read()
  if (state === undefined) return [ok('none runs on this tree')]
  const { pid, process_start, url, transport } = state
  if (!isRunning(pid, process_start))
    return [ok(`none runs on this tree; process ${pid} was killed, the next start replaces it`)]
  const who = `process ${pid} runs on this tree (${transport}${url === null ? '' : `, ${url}`})`
  const silent = fail(`${who}, and does not answer`, `continue it (kill -CONT ${pid}), or stop it: another takes over`)
  if (url === null) return [(await isAnsweringAtSocket(state.project.root)) ? ok(who) : silent]
  const health = await askHealth(url, token)
  if (health.state === 'unreachable') return [silent]
  const { degraded = [] } = health
  if (degraded.length === 0) return [ok(who)]
  return degraded.map((what) => fail(`${who}, and is degraded: ${what}`, 'do what it says; its log has the cause'))
}
