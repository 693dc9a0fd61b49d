// Makes a commit of bytes that Git stores as they are, in one stream: without a file for each of them, and without an index.
import { toBytes } from '../raw-name.ts'
import type { Git } from './run-git.ts'
import type { CommitFile } from './stage-files.ts'

export interface NewCommit {
  readonly parent: string
  /** Name, address and time, as Git writes them into a commit. */
  readonly identity: string
  readonly message: string
}

const nul = Buffer.of(0)
const lineEnd = Buffer.of(10)
/** Beside line ends, what lets Git store other bytes than a file has. */
const attributes = ['filter', 'ident', 'working-tree-encoding']

/**
 * Git reads `.gitattributes`, and takes no name that is `.git` on some system, by rules of its own that only staging applies: short names
 * of Windows, and characters that macOS passes over.
 */
function isOfGit(name: string): boolean {
  return name.split('/').some((part) => /^\.git|~\d/i.test(part.replaceAll(/[^ -~]/g, '')))
}

/**
 * @param ofParent runs Git with an index that has the parent of the commit: its attributes count
 * @param git runs Git with the objects of the repository
 * @returns the id of the commit, which no branch has yet; undefined, with nothing made, if Git would store other bytes than these
 */
export async function importCommit(
  files: readonly CommitFile[],
  next: NewCommit,
  ofParent: Git,
  git: Git
): Promise<string | undefined> {
  const isConverted = ({ mode, bytes }: CommitFile) => mode !== '120000' && bytes?.includes('\r\n') === true
  if (files.some((file) => isOfGit(file.name) || isConverted(file))) return undefined
  if (!(await areStoredAsTheyAre(files, ofParent))) return undefined
  // On a system that takes other letters for the same name, the names are those that Git has already.
  const exact = ['-c', 'core.ignoreCase=false']
  return (await git([...exact, 'fast-import', '--quiet', '--done'], streamOf(files, next))).toString('latin1').trim()
}

async function areStoredAsTheyAre(files: readonly CommitFile[], git: Git): Promise<boolean> {
  const names = Buffer.concat(files.flatMap(({ name }) => [toBytes(name), nul]))
  const answers = (await git(['check-attr', '--cached', '-z', '--stdin', ...attributes], names)).toString('latin1')
  // Each is a name, an attribute, and its value.
  return answers.split('\0').every((part, index) => index % 3 !== 2 || part === 'unspecified' || part === 'unset')
}

function streamOf(files: readonly CommitFile[], { parent, identity, message }: NewCommit): Buffer {
  const removed = files.filter(({ bytes }) => bytes === undefined)
  const made = files.flatMap(({ name, mode, bytes }) => (bytes === undefined ? [] : { name, mode, bytes }))
  return Buffer.concat([
    Buffer.from(`commit refs/heads/landed\nmark :1\nauthor ${identity}\ncommitter ${identity}\n`),
    ...dataOf(Buffer.from(message.endsWith('\n') ? message : `${message}\n`)),
    Buffer.from(`from ${parent}\n`),
    // A name that was a file can be a folder now: what goes must go first.
    ...removed.map(({ name }) => Buffer.from(`D ${quote(name)}\n`, 'latin1')),
    ...made.flatMap(({ name, mode, bytes }) => [
      Buffer.from(`M ${mode} inline ${quote(name)}\n`, 'latin1'),
      ...dataOf(bytes)
    ]),
    Buffer.from('get-mark :1\ndone\n')
  ])
}

const dataOf = (bytes: Buffer): Buffer[] => [Buffer.from(`data ${bytes.length}\n`), bytes, lineEnd]

/** Its bytes, a character each. */
function quote(name: string): string {
  const text = toBytes(name).toString('latin1')
  return `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`
}
