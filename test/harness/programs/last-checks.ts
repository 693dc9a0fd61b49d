// At the end of a program: who made each line, and that all that was replaced or removed can be had back.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf } from '../../fixtures/tree.ts'
import { shown } from './world.ts'
import type { World } from './world.ts'

export async function checkAuthors(world: World): Promise<void> {
  for (const [path, entry] of world.model.tree) {
    if (entry?.kind !== 'file') continue
    const { ranges, total_lines } = await world.call('async_blame', { path })
    world.expect(`lines of ${path}`, total_lines, entry.lines.length)
    const by = (ranges as { start_line: number; end_line: number; agent_id: string | null }[]).flatMap(
      ({ start_line, end_line, agent_id }) => Array.from({ length: end_line - start_line + 1 }, () => agent_id)
    )
    for (const [at, line] of entry.lines.entries())
      if (line.by !== undefined && !line.by.includes(by[at]!))
        throw new Error(`${path}: line ${at + 1} is by ${by[at]}, and not by ${line.by.join(' or ')}`)
  }
}

/** The last of all, since it writes: everything that a change has replaced or removed can be had back. */
export async function checkKept(world: World): Promise<void> {
  for (const path of world.model.tree.keys()) rmSync(join(world.root, path))
  const wanted = new Map(world.replaced.map((each) => [`${each.path}\n${each.text}`, each]))
  for (const { path, text } of wanted.values()) {
    const hash = hashOf(text)
    const { versions } = await world.call('async_history', { path, limit: 100 })
    const isKept = (versions as { hash: string; kept: boolean }[]).some((each) => each.hash === hash && each.kept)
    if (!isKept) throw new Error(`${path}: the history does not keep ${JSON.stringify(text)}`)
    const answer = await world.call('async_restore', { path, hash, expected_hash: null })
    world.expect('status of async_restore', answer['status'], 'ok')
    world.expect(`${path} after async_restore`, shown(world.entryOnDisk(path)), JSON.stringify(text))
  }
}
