// The bytes that files of a commit have in the working tree: their blobs through the conversions of line ends that the user's own
// configuration and the attributes ask for, never through a program.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { toBytes, toName } from '../raw-name.ts'
import { pipeGit, streamGit } from './run-git.ts'
import { withStandIn, type StandIn } from './stand-in.ts'
import { nameIn, type WorkTree } from './work-tree.ts'

export interface WantedBlob {
  /** Absolute, below the working tree. */
  readonly path: string
  /** Its id. */
  readonly blob: string
}

/** A file of a commit. */
export interface HeadFile {
  /** `100644`, `100755` if it can be run, `120000` for a symbolic link. */
  readonly mode: string
  readonly blob: string
}

/** Of one answer of Git. */
const maxBytes = 256 * 1024 * 1024
const pathsPerCall = 500
/** A program would make the file, or a conversion that is not done here. */
const attributes = ['filter', 'working-tree-encoding']

/** What HEAD has at paths; those at which it has no file are left out. */
export async function headBlobs(
  tree: WorkTree,
  paths: readonly string[],
  signal: AbortSignal
): Promise<Map<string, HeadFile>> {
  const found = new Map<string, HeadFile>()
  const wanted = new Set(paths)
  const { commit } = tree
  if (commit === undefined || paths.length === 0) return found
  await withStandIn(tree, tree.workTree, async ({ options, variables }) => {
    for (let at = 0; at < paths.length; at += pathsPerCall) {
      const names = paths.slice(at, at + pathsPerCall).map((path) => nameIn(tree, path))
      const args = [...options, 'ls-tree', '-z', '--full-tree', commit, '--', ...names]
      await streamGit(args, signal, variables, (record) => {
        const [head, mode, type, blob] = /^(\d+) (\w+) ([0-9a-f]+)\t/.exec(record.toString('latin1')) ?? []
        if (type !== 'blob') return true
        const path = join(tree.workTree, toName(record.subarray(head!.length)))
        // Git lists a folder, too, if one of the paths is below it.
        if (wanted.has(path)) found.set(path, { mode: mode!, blob: blob! })
        return true
      })
    }
  })
  return found
}

/** @returns by what was wanted; undefined for a path whose bytes only a program of the repository or the user can tell, or that could not be read */
export async function readBlobs(
  tree: WorkTree,
  wanted: readonly WantedBlob[],
  signal: AbortSignal
): Promise<Map<WantedBlob, Buffer | undefined>> {
  const found = new Map<WantedBlob, Buffer | undefined>(wanted.map((one) => [one, undefined]))
  if (wanted.length === 0) return found
  const named = wanted
    .map((one) => ({ one, name: toBytes(nameIn(tree, one.path)) }))
    .filter(({ name }) => !name.includes(10))
  await withStandIn(tree, tree.workTree, async (standIn) => {
    const plain = plainFiles(standIn, named, signal)
    // Both programs start at once. What the first one finds is what the second one is asked for: the user's own configuration may name
    // programs for the rest.
    const contents = await readContents(standIn, plain, signal)
    if (contents !== undefined) for (const [index, { one }] of (await plain).entries()) found.set(one, contents[index])
  })
  return found
}

interface NamedBlob {
  readonly one: WantedBlob
  readonly name: Buffer
}

/** Those to which no filter applies; none if Git cannot tell. */
async function plainFiles(
  { options, variables }: StandIn,
  named: readonly NamedBlob[],
  signal: AbortSignal
): Promise<readonly NamedBlob[]> {
  const asked = Buffer.concat(named.flatMap(({ name }) => [name, nul]))
  const checked = await pipeGit([...options, 'check-attr', '-z', '--stdin', ...attributes], signal, variables, asked)
  if (checked === undefined) return []
  const filtered = new Set<string>()
  const answers = splitAt(checked, nul)
  for (let at = 0; at + 2 < answers.length; at += 3)
    if (!['unspecified', 'unset'].includes(answers[at + 2]!.toString())) filtered.add(answers[at]!.toString('latin1'))
  return named.filter(({ name }) => !filtered.has(name.toString('latin1')))
}

/** Git prints the length before the conversion, so each file begins with a random mark that no content can contain on purpose. */
async function readContents(
  { options, variables }: StandIn,
  files: Promise<readonly NamedBlob[]>,
  signal: AbortSignal
): Promise<readonly Buffer[] | undefined> {
  const mark = randomBytes(16).toString('hex')
  const lines = files.then((all) =>
    Buffer.concat(all.flatMap(({ one, name }) => [Buffer.from(`${one.blob} `), name, Buffer.of(10)]))
  )
  const args = [...options, 'cat-file', `--batch=${mark} %(objecttype)`, '--filters']
  const output = await pipeGit(args, signal, variables, lines, maxBytes)
  if (output === undefined) return undefined
  const parts = splitAt(output, Buffer.from(`${mark} blob\n`)).slice(1)
  // A blob that is missing has no mark.
  return parts.length === (await files).length ? parts.map((part) => part.subarray(0, -1)) : undefined
}

const nul = Buffer.of(0)

function splitAt(bytes: Buffer, mark: Buffer): Buffer[] {
  const parts: Buffer[] = []
  let at = 0
  for (let end = bytes.indexOf(mark); end !== -1; end = bytes.indexOf(mark, at)) {
    parts.push(bytes.subarray(at, end))
    at = end + mark.length
  }
  parts.push(bytes.subarray(at))
  return parts
}
