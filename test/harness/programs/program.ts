// Carries a random program out on a real tree through the real server.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { together, permute } from './joint-changes.ts'
import { checkAuthors, checkKept } from './last-checks.ts'
import { textOf } from './lines.ts'
import { outside } from './outside-step.ts'
import { append, remove, rename, restore, update, write } from './single-changes.ts'
import type { Program, Step } from './steps.ts'
import { undo } from './undo-step.ts'
import type { World } from './world.ts'

/** @throws Error what is not as the model says, and all calls until then */
export async function runProgram(world: World, { files, steps }: Program): Promise<void> {
  try {
    for (const { name, text } of files) {
      const path = world.path(name)
      const lines = textOf(text)
      world.model.tree.set(path, { kind: 'file', lines: lines.map((text) => ({ text, by: [null] })) })
      world.put(path, lines.join(''))
      world.remember(path)
    }
    world.isTimed = steps.some((step) => step.do === 'undo' && ('since' in step.chosen || 'until' in step.chosen))
    for (const step of steps) {
      world.count += 1
      world.now = await world.moment()
      await take(world, step)
      world.checkDisk()
    }
    await checkAuthors(world)
    await checkKept(world)
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n  ${world.calls.join('\n  ')}`, {
      cause: error
    })
  } finally {
    for (const name of readdirSync(world.root))
      if (name.startsWith(`${world.mark}.`)) rmSync(join(world.root, name), { recursive: true })
  }
}

async function take(world: World, step: Step): Promise<void> {
  switch (step.do) {
    case 'write':
      return write(world, step)
    case 'update':
      return update(world, step)
    case 'append':
      return append(world, step)
    case 'rename':
      return rename(world, step)
    case 'delete':
      return remove(world, step)
    case 'restore':
      return restore(world, step)
    case 'together':
      return together(world, step)
    case 'permute':
      return permute(world, step)
    case 'undo':
      return undo(world, step)
    case 'outside':
      return outside(world, step)
  }
}
