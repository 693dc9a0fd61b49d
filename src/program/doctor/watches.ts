// Checks whether the system lets the server watch the folders of files in use (Linux).
import { opendir, readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { findings, type Finding } from './check.ts'

interface WatchSettings {
  readonly roots: readonly string[]
  /** Maximum number of files in use whose folders are watched. */
  readonly maxFiles: number
  /** Where the kernel reports on itself. */
  readonly proc?: string
}

/** How much of a resource this user has in use, and may use in all. */
interface Limit {
  readonly used: number
  readonly limit: number
}

/** The count stops after this many directories, or this time. */
const maxDirectories = 50_000
const maxCountMs = 1500
const leastFree = { watches: 64, instances: 4 }
const usualWatches = 524_288
const usualInstances = 1024

export async function checkWatches({ roots, maxFiles, proc = '/proc' }: WatchSettings): Promise<Finding[]> {
  const [maxWatches, maxInstances] = await Promise.all([readLimit(proc, 'watches'), readLimit(proc, 'instances')])
  if (maxWatches === undefined || maxInstances === undefined) return []
  const { watches, instances } = await countInUse(proc)
  return [
    await judgeWatches({ used: watches, limit: maxWatches }, roots, maxFiles),
    judgeInstances({ used: instances, limit: maxInstances })
  ]
}

async function judgeWatches({ used, limit }: Limit, roots: readonly string[], maxFiles: number): Promise<Finding> {
  const { ok, warn } = findings('watches')
  const { count, isWhole } = await countDirectories(roots)
  const need = Math.min(count, maxFiles)
  const message = `${isWhole ? '' : 'at least '}${count} folders, ${used} of ${limit} watches of this user in use`
  if (limit - used >= Math.max(need, leastFree.watches)) return ok(message)
  const wanted = Math.max(usualWatches, (used + need) * 4)
  return warn(message, `sudo sysctl fs.inotify.max_user_watches=${wanted}, and in /etc/sysctl.d for the next start`)
}

function judgeInstances({ used, limit }: Limit): Finding {
  const { ok, warn } = findings('watches')
  const message = `${used} of ${limit} inotify instances of this user in use; each server takes one`
  if (limit - used >= leastFree.instances) return ok(message)
  const wanted = Math.max(usualInstances, limit * 2)
  return warn(message, `sudo sysctl fs.inotify.max_user_instances=${wanted}, and in /etc/sysctl.d for the next start`)
}

/** The limit of the machine or of this user namespace, whichever is lower. */
async function readLimit(proc: string, what: 'watches' | 'instances'): Promise<number | undefined> {
  const paths = [join(proc, 'sys/fs/inotify', `max_user_${what}`), join(proc, 'sys/user', `max_inotify_${what}`)]
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => '')))
  const limits = texts.filter((text) => text !== '').map(Number)
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** Of all processes of this user. */
async function countInUse(proc: string): Promise<{ watches: number; instances: number }> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => countOf(join(proc, pid)).catch(ifGone)))
  const all = found.flat()
  return { watches: all.reduce((sum, watches) => sum + watches, 0), instances: all.length }
}

/** @returns for each inotify instance of a process, how many watches it has */
async function countOf(folder: string): Promise<number[]> {
  if ((await stat(folder)).uid !== process.geteuid?.()) return []
  const fds = await readdir(join(folder, 'fd'))
  const targets = await Promise.all(fds.map((fd) => readlink(join(folder, 'fd', fd)).catch(() => '')))
  const instances = fds.filter((_, index) => targets[index]?.startsWith('anon_inode:inotify') === true)
  const infos = await Promise.all(instances.map((fd) => readFile(join(folder, 'fdinfo', fd), 'utf8').catch(() => '')))
  return infos.map((info) => info.match(/^inotify /gm)?.length ?? 0)
}

/** A process may end during the look, or be one that this user may not inspect. */
function ifGone(error: unknown): number[] {
  if (isErrno(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return []
  throw error
}

async function countDirectories(roots: readonly string[]): Promise<{ count: number; isWhole: boolean }> {
  const until = performance.now() + maxCountMs
  const waiting = [...roots]
  let count = 0
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    count += 1
    if (count >= maxDirectories || performance.now() > until) return { count, isWhole: false }
    try {
      for await (const entry of await opendir(folder)) if (entry.isDirectory()) waiting.push(join(folder, entry.name))
    } catch (error) {
      if (!isErrno(error, 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error
    }
  }
  return { count, isWhole: true }
}
