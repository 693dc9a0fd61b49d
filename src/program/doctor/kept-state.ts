// Checks whether any of the kept state of a tree had to be set aside.
import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { listFolder } from '../../support/list-folder.ts'
import { statePathOf } from '../../tree/persistence/state-location.ts'
import { findings, type Finding } from './check.ts'

const { ok, warn } = findings('kept state')

/** @param roots that exist or not; the first names the tree */
export function checkKeptState(roots: readonly string[], stateFile: string | null, dataFolder: string): Finding[] {
  const [first, ...others] = roots.filter(existsSync).map((root) => realpathSync.native(root))
  if (first === undefined) return []
  const path = statePathOf([first, ...others], stateFile, dataFolder)
  const isAside = (name: string) =>
    name.startsWith(`${basename(path)}.`) && /\.(?:damaged|foreign|newer)-\d+$/.test(name)
  const aside = listFolder(dirname(path)).filter(isAside)
  if (aside.length === 0) return [ok(existsSync(path) ? path : 'no state of this tree is kept')]
  const advice = 'the server goes on without it; remove it if you do not need it'
  return aside.map((name) => warn(`${join(dirname(path), name)}: an earlier state that could not be used`, advice))
}
