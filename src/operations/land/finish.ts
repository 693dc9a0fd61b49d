// The last steps of a landing: the branch, then the user's index. What is about to be done is written down first, so that the next
// process ends it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { OperationError } from '../../errors.ts'
import { hasTypes, parseFields } from '../../support/json-fields.ts'
import { runGit } from '../../support/project/run-git.ts'
import {
  advanceIndex,
  moveHead,
  readBranch,
  readChanges,
  readHead,
  readIndex,
  setIndex,
  type IndexEntry
} from '../../support/project/head-and-index.ts'
import { openWorkTree, type WorkTree } from '../../support/project/work-tree.ts'
import { removeLeftScratch } from '../../support/scratch.ts'
import { servedDirectory } from '../../tree/state/served-directory.ts'
import { removeLeftTrees } from './landing-trees.ts'

export interface Made {
  /** The one before. */
  readonly parent: string
  readonly commit: string
}

/** In the server's own folder below the first root. */
export const landingNote = 'landing.json'
/** How long the index of the user may be locked by another Git. */
const lockedMs = 10_000
const retryMs = 100
/** Of a process that begins to serve the tree. */
const endMs = 60_000

/** By root: what ends once nobody lands there. */
const landing = new Map<string, Promise<unknown>>()

/** One after the other, in the order of the calls: HEAD moves in between only if others move it. */
export async function inTurn<Result>(root: string, act: () => Promise<Result>): Promise<Result> {
  const before = landing.get(root)
  const own = (before ?? Promise.resolve()).then(act, act)
  landing.set(root, own)
  try {
    return await own
  } finally {
    if (landing.get(root) === own) landing.delete(root)
  }
}

/**
 * Until the branch is moved the caller can go away; from then on it is ended for it.
 * @returns the branch, null for a detached HEAD; undefined if HEAD has moved meanwhile: then nothing was landed
 */
export async function finishLanding(
  context: Pick<OperationContext, 'files' | 'signal'>,
  tree: WorkTree,
  { parent, commit }: Made,
  reason: string
): Promise<{ readonly branch: string | null } | undefined> {
  await awaitIndex(tree, context.signal)
  const [root] = context.files.roots
  const own = root && servedDirectory(root)
  const signal = AbortSignal.timeout(endMs)
  own?.write(landingNote, JSON.stringify({ parent, commit, reason }), { isDurable: true })
  const isMoved = await move(tree, { from: parent, to: commit, reason }, signal)
  // If the index does not follow, the note stays, so that the next landing or process ends it.
  if (isMoved) await followIndex(tree, { parent, commit }, signal)
  own?.remove(landingNote)
  return isMoved ? { branch: await readBranch(tree, signal) } : undefined
}

/** @throws OperationError INVALID_REQUEST if another Git holds the lock of the index for too long */
async function awaitIndex({ gitDir }: WorkTree, signal: AbortSignal): Promise<void> {
  const lock = join(gitDir, 'index.lock')
  for (const start = performance.now(); existsSync(lock); await delay(retryMs, undefined, { signal })) {
    if (performance.now() - start < lockedMs) continue
    const message = `Nothing was landed: another Git holds ${lock}. Land again once it has ended; if none is running, remove that file.`
    throw new OperationError('INVALID_REQUEST', message)
  }
}

/** @returns false if HEAD has another commit */
async function move(tree: WorkTree, way: Parameters<typeof moveHead>[1], signal: AbortSignal): Promise<boolean> {
  for (const start = performance.now(); ; await delay(retryMs, undefined, { signal })) {
    if (await moveHead(tree, way, signal)) return true
    const commit = await readHead(tree, signal)
    if (commit !== way.from) return commit === way.to
    if (performance.now() - start < lockedMs) continue
    const message =
      'Nothing was landed: Git could not move HEAD. Another Git may hold its lock: look for .lock files in .git.'
    throw new OperationError('INVALID_REQUEST', message)
  }
}

/** For a process that begins to serve the tree. */
export async function endLandings({ files, log }: Pick<OperationContext, 'files' | 'log'>): Promise<void> {
  const [root] = files.roots
  if (root === undefined) return
  await removeLeftTrees(join(root.real, ownFolder))
  await removeLeftScratch()
  if (servedDirectory(root).read(landingNote) === undefined) return
  const signal = AbortSignal.timeout(endMs)
  const tree = await openWorkTree(root.real, signal)
  if (tree !== undefined) await inTurn(root.real, () => settleLanding({ files, log, signal }, tree))
}

/** Ends what a killed process has begun. @returns true if there was something */
export async function settleLanding(
  context: Pick<OperationContext, 'files' | 'signal' | 'log'>,
  tree: WorkTree
): Promise<boolean> {
  const [root] = context.files.roots
  const own = root && servedDirectory(root)
  const note: unknown = parseFields(own?.read(landingNote) ?? '')
  if (own === undefined || !isNote(note)) return false
  const { signal } = context
  const { parent, commit, reason } = note
  const now = await readHead(tree, signal)
  const isMoved = now === parent && (await move(tree, { from: parent, to: commit, reason }, signal))
  const isIn = isMoved || (now !== undefined && (await isAncestor(tree, commit, now, signal)))
  if (isIn) await followIndex(tree, { parent, commit }, signal)
  own.remove(landingNote)
  context.log.info({ commit, isIn }, 'a landing that a killed process had begun was ended')
  return true
}

/** Names that still are as they were before the commit become as the commit has them. */
async function followIndex(tree: WorkTree, { parent, commit }: Made, signal: AbortSignal): Promise<void> {
  const way = { from: parent, to: commit }
  if (await advanceIndex(tree, way, signal)) return
  const changes = await readChanges(tree, way, signal)
  for (const start = performance.now(); ; await delay(retryMs, undefined, { signal })) {
    const index = await readIndex(tree, [...changes.keys()], signal)
    const entries = new Map<string, IndexEntry | undefined>()
    for (const [name, { before, after }] of changes) if (isSame(index.get(name), before)) entries.set(name, after)
    if (await setIndex(tree, entries, signal)) return
    if (performance.now() - start > lockedMs)
      throw new OperationError(
        'SERVER_ERROR',
        'The commit is made and the branch is moved, but another Git holds the lock of the index, which follows with the next landing.',
        { details: { applied: true } }
      )
  }
}

function isSame(one: IndexEntry | undefined, other: IndexEntry | undefined): boolean {
  return one?.blob === other?.blob && one?.mode === other?.mode
}

async function isAncestor({ workTree }: WorkTree, commit: string, of: string, signal: AbortSignal): Promise<boolean> {
  return (await runGit(['-C', workTree, 'merge-base', '--is-ancestor', commit, of], signal)) !== undefined
}

interface Note extends Made {
  readonly reason: string
}

function isNote(value: unknown): value is Note {
  return hasTypes(value, { parent: 'string', commit: 'string', reason: 'string' })
}
