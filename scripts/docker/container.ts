// Runs commands as a container of an image would: its user, its environment, its files, and nothing else that can be written.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'

export interface Container {
  /** How it is confined, for people. */
  readonly kind: string
  /** Who runs it. */
  readonly uid: number | undefined
  /** True where nothing but the tree, the state and /tmp can be written. */
  readonly isReadOnly: boolean
  start(command: readonly string[]): ChildProcess
}

interface Setup {
  /** The folder that is the root of the image. */
  readonly image: string
  /** The folder of the host that is mounted at /tree. */
  readonly tree: string
  /** What is mounted at /state; without it nothing is, and the folder of the image cannot be written. */
  readonly state?: string
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  /** Of each command, as one that enters a network. */
  readonly prefix?: readonly string[]
}

/**
 * The image at its place, on top of this machine's own programs and libraries, all read-only; the tree, the volume of the state if it has
 * one, and a /tmp of its own.
 * Arguments: the new root, the image, the tree, the state, node, the user id, then the command.
 */
const script = `
set -e
root=$1 image=$2 tree=$3 state=$4 node=$5 uid=$6
shift 6
mount -t tmpfs -o mode=0755 tmpfs "$root"
for name in bin sbin lib lib32 lib64 usr etc; do
  [ -e "/$name" ] || continue
  mkdir "$root/$name"
  mount --bind "/$name" "$root/$name"
  mount -o remount,bind,ro "$root/$name"
done
mount --bind /etc/hosts "$root/etc/hosts"
mkdir "$root/proc" "$root/dev" "$root/tmp" "$root/tree" "$root/app" "$root/node" "$root/state"
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind "$tree" "$root/tree"
if [ -n "$state" ]; then mount --bind "$state" "$root/state"; fi
mount --bind "$image/app" "$root/app"
mount -o remount,bind,ro "$root/app"
touch "$root/node/node"
mount --bind "$node" "$root/node/node"
mount -o remount,bind,ro "$root/node/node"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o remount,ro "$root"
exec chroot --userspec="$uid:$uid" --groups="$uid" "$root" "$@"
`

export function createContainer(setup: Setup): Container {
  return canUnshare() ? inNamespace(setup) : inFolder(setup)
}

function canUnshare(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  return spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt && command -v chroot']).status === 0
}

function inNamespace({ image, tree, state = '', env, uid, prefix = [] }: Setup): Container {
  const path = '/node:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const first = [...prefix, 'unshare', '--mount', 'sh', '-c', script, 'sh', '/mnt', image, tree, state]
  return {
    kind: `read-only root, user ${uid}`,
    uid,
    isReadOnly: true,
    start(command) {
      const [program = '', ...args] = [...first, process.execPath, String(uid), ...command]
      return spawn(program, args, { env: { PATH: path, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    }
  }
}

/** Without the rights for more: the same command where its files lie, as whoever runs this. */
function inFolder({ image, tree, env }: Setup): Container {
  const place = (word: string) =>
    word.replace(/^\/(?:app|state)(?=\/|$)/, (name) => image + name).replace(/^\/tree(?=\/|$)/, tree)
  const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, place(value)]))
  return {
    kind: 'plain folder, own user',
    uid: process.getuid?.(),
    isReadOnly: false,
    start: (command) => {
      const [name = '', ...args] = command.map(place)
      const program = name === 'node' ? process.execPath : name
      return spawn(program, args, { env: { PATH: process.env['PATH'], ...own }, stdio: ['ignore', 'pipe', 'pipe'] })
    }
  }
}
