// Folders for a moment, below the temporary folder of the system and closed to other users.
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'async-crud-mcp-scratch-'
/** Far above what any of them is used for. */
const leftMs = 3_600_000

/** The folder is there until `use` ends. */
export async function withScratch<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  try {
    return await use(folder)
  } finally {
    // The caller does not wait for the removal. If it fails, a later process removes the folder.
    rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** Removes those that processes of this user have left, which were killed. */
export async function removeLeftScratch(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const path = join(tmpdir(), name)
    const stat = await lstat(path).catch(() => undefined)
    const isOwn = stat?.isDirectory() === true && stat.uid === (process.geteuid?.() ?? stat.uid)
    if (isOwn && Date.now() - stat.mtimeMs > leftMs) await rm(path, { recursive: true, force: true })
  }
}
