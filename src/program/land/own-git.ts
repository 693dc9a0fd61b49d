// Git as the user calls it: with all settings, hooks, filters and signing.
import { execFile } from 'node:child_process'

export type OwnGit = ReturnType<typeof createGit>

const leastVersion = [2, 34] as const
const maxBytes = 256 * 1024 * 1024

/** A Git that has called this program, such as from a hook, names its own repository by variables. */
export function withoutGit(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(environment).filter(
    ([name]) => !/^GIT_(?:DIR|WORK_TREE|INDEX_FILE|PREFIX|COMMON_DIR)$/.test(name)
  )
  return Object.fromEntries(others)
}

/** @param folder in which it runs */
export function createGit(folder: string) {
  /** @throws Error with what Git said */
  return (args: readonly string[], input?: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const options = { cwd: folder, env: withoutGit(process.env), maxBuffer: maxBytes, encoding: 'buffer' } as const
      const child = execFile('git', [...args], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout)
        const said = stderr.toString().trim() || stdout.toString().trim() || error.message
        reject(new Error(`git ${args[0]} failed: ${said}`))
      })
      child.stdin?.on('error', () => {})
      child.stdin?.end(input ?? Buffer.alloc(0))
    })
}

/** @throws Error that says how to name somebody, before a test has run for nothing */
export async function requireIdentity(git: OwnGit): Promise<void> {
  try {
    await git(['var', 'GIT_COMMITTER_IDENT'])
    await git(['var', 'GIT_AUTHOR_IDENT'])
  } catch (error) {
    const words = 'nothing was landed: Git knows no name for the commit. git config user.name NAME, and user.email'
    throw new Error(words, { cause: error })
  }
}

/** @throws Error that says which version is needed */
export async function requireGit(git: OwnGit): Promise<void> {
  let text: string
  try {
    text = (await git(['--version'])).toString()
  } catch (error) {
    throw new Error('Git is needed to land, and git is not in the PATH: install version 2.34 or later', {
      cause: error
    })
  }
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).map(Number)
  if (major > leastVersion[0] || (major === leastVersion[0] && minor >= leastVersion[1])) return
  throw new Error(`Git is too old to land (${text.trim()}): install version 2.34 or later`)
}
