// The mount namespace of an isolated command: its roots are overlays over the live tree. A process holds it until the layer is read.
import { someOf } from '../../support/cut-text.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { orUndefined } from '../../support/attempt.ts'
import { findRepository } from '../../support/project/repository.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { mountsBelow, optionsAt, readMounts } from '../../support/mounts.ts'
import { below } from '../../support/relocate.ts'
import { userNamespaceObstacle } from '../service/user-namespaces.ts'

export interface LayerPlace {
  /** Holds a folder for each root. */
  readonly folder: string
  /** Real paths. */
  readonly roots: readonly string[]
}

export interface Namespace {
  /** The process that holds it: below `/proc/<pid>/root` are its files. */
  readonly pid: number
  /** What to run for a command in it. */
  argv(command: readonly string[], cwd: string): readonly string[]
  close(): Promise<void>
}

/**
 * Mounts the overlays, then waits for the end of its input. Its arguments come in groups of a word and a number of values. Sources are relative to
 * the folder of the layer, which stays reachable from inside under the overlay: `mount` must not make them absolute (-c).
 */
const script = `
set -e
cd "$1"; shift
while [ $# -gt 0 ]; do
  case "$1" in
    lower) mount --bind "$3" "$2/lower"; shift 3 ;;
    overlay) (cd "$2" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr "$3"); shift 3 ;;
    frozen) mount -c --bind "$2" "$3"; mount -o "remount,bind,ro$4" "$3"; shift 4 ;;
    masked) mount -t tmpfs -o ro,size=4k,mode=755 async-crud-mcp "$2"; shift 2 ;;
  esac
done
echo ready
read -r end || true
`

const inFolder = 'cd -- "$1" && shift && exec "$@"'

/** @throws Error that says what is in the way, and what to allow */
export async function openNamespace(place: LayerPlace): Promise<Namespace> {
  refuseMountsBelow(place.roots)
  const words = toWords(place)
  const isRoot = process.geteuid?.() === 0
  // Root without the rights of the system's own root, as in a container, is one user more among those who need a namespace of users.
  const kinds = isRoot ? ([false, true] as const) : ([true] as const)
  let failure: unknown
  for (const hasUsers of kinds) {
    try {
      return await hold(words, hasUsers)
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}

async function hold(words: readonly string[], hasUsers: boolean): Promise<Namespace> {
  const users = hasUsers ? ['--user', '--map-root-user'] : []
  const holder = spawn('unshare', [...users, '--mount', 'sh', '-c', script, 'sh', ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
    cwd: '/'
  })
  holder.stdin.on('error', () => {})
  const complaint = text(holder.stderr)
  const ended = once(holder, 'close')
  const ready = await Promise.race([
    once(createInterface({ input: holder.stdout }), 'line').then(() => true),
    ended.then(() => false)
  ]).catch((error: unknown) => explainStart(error))
  if (!ready) throw new Error(explain((await complaint).trim()))
  return {
    pid: holder.pid as number,
    argv: (command, cwd) => [...enter(holder.pid as number, hasUsers), 'sh', '-c', inFolder, 'sh', cwd, ...command],
    async close() {
      holder.stdin.end()
      await ended
    }
  }
}

/** A second namespace of users gives the caller its own id back, and none of the rights over the mounts. */
function enter(pid: number, hasUsers: boolean): string[] {
  const target = ['--target', String(pid), '--mount']
  if (!hasUsers) return ['nsenter', ...target]
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0]
  const own = ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`]
  return ['nsenter', '--preserve-credentials', '--user', ...target, ...own]
}

function toWords({ folder, roots }: LayerPlace): string[] {
  const mounts = readMounts()
  // An outer root comes before those in it.
  const order = [...roots.keys()].sort((one, other) => roots[one]!.length - roots[other]!.length)
  const frozen = [...new Set(roots.flatMap(gitFolders))].flatMap((path) => {
    const index = order.findLast((at) => below(roots[at]!, path) !== undefined)
    const source = index === undefined ? path : join(String(index), 'lower', below(roots[index]!, path) ?? '')
    const options = optionsAt(path, mounts).map((option) => `,${option}`)
    return ['frozen', source, path, options.join('')]
  })
  const masked = roots.map((root) => join(root, ownFolder)).filter((path) => existsSync(path))
  return [
    folder,
    ...order.flatMap((index) => ['lower', String(index), roots[index]!]),
    ...order.flatMap((index) => ['overlay', String(index), roots[index]!]),
    ...frozen,
    ...masked.flatMap((path) => ['masked', path])
  ]
}

/** An overlay shows none of them, and what a command writes there would not be isolated. */
function refuseMountsBelow(roots: readonly string[]): void {
  const mounts = readMounts()
  const found = roots.flatMap((root) => mountsBelow(root, mounts))
  if (found.length === 0) return
  throw new Error(
    `other file systems are mounted below the root (${someOf(found, 3)}): no layer can lie over them. Mount them outside of it, where a symbolic link may lead to them, or run the command without --isolated`
  )
}

function explainStart(error: unknown): never {
  const message = `unshare (util-linux) could not be started: ${(error as Error).message}. Install util-linux, or run the command without --isolated`
  throw new Error(message, { cause: error })
}

function explain(complaint: string): string {
  const obstacle = userNamespaceObstacle()
  const advice =
    obstacle === undefined
      ? 'The kernel needs overlayfs (5.11 or later), and a container a seccomp profile that allows unshare and mount'
      : `User namespaces are off (${obstacle}): ask the administrator to allow them`
  return `the system allows no isolated command (${complaint.split('\n')[0] ?? ''}). ${advice}, or run it without --isolated`
}

/**
 * Git's own folders of a root: an isolated command must not change them, since its writes there could not be merged. Real paths of those that
 * exist: `.git` of the root, or the folders of the repository in which the root lies, with the outside ones of a worktree.
 */
function gitFolders(root: string): string[] {
  const repository = findRepository(root)
  const all = [
    gitEntryAbove(root),
    ...(repository === undefined ? [] : [repository.gitDir, repository.commonDir])
  ].filter((path) => path !== undefined)
  const real = all.map((path) => orUndefined(() => realpathSync(path))).filter((path) => path !== undefined)
  return [...new Set(real)].sort()
}

/** Also a file that names another folder. */
function gitEntryAbove(folder: string): string | undefined {
  for (let here = folder; ; here = dirname(here)) {
    const path = join(here, '.git')
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === false) return path
    if (dirname(here) === here) return undefined
  }
}
