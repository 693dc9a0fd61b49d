// What programs outside the server do to the tree.
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cannotLink } from '../../fixtures/links.ts'
import { isPlain } from './forms.ts'
import { bySlot, slotOf } from './lines.ts'
import { external, isSame, linesOf } from './model.ts'
import type { Step } from './steps.ts'
import type { World } from './world.ts'

const observer = 'observer'

export async function outside(world: World, { what, isSeen }: Step & { do: 'outside' }): Promise<void> {
  const path = world.pick(what.name, what.do !== 'link')
  const before = world.model.at(path)
  const absolute = join(world.root, path)
  const change = { agent: external, set: undefined, at: world.now }
  world.calls.push(`outside: ${JSON.stringify({ ...what, path })}`)
  const touched = [path]
  switch (what.do) {
    case 'write': {
      if (before?.kind === 'link') return
      const line = `${what.slot + 1}o${world.count}\n`
      const text = [...linesOf(before).filter((line) => slotOf(line) !== what.slot), line].sort(bySlot)
      if (!isPlain(text)) return
      world.put(path, text.join(''))
      world.model.apply({ ...change, steps: [world.model.outside(path, text)] })
      break
    }
    case 'delete':
      if (before === undefined) return
      rmSync(absolute)
      world.model.apply({ ...change, steps: [world.model.outside(path, undefined)] })
      break
    case 'rename': {
      const to = world.path(what.to)
      if (before === undefined || to === path) return
      mkdirSync(dirname(join(world.root, to)), { recursive: true })
      renameSync(absolute, join(world.root, to))
      touched.push(to)
      world.model.apply({ ...change, steps: world.model.movedOutside(path, to) })
      break
    }
    case 'link': {
      if (cannotLink) return
      const target = world.path(what.to)
      if (before !== undefined || target === path || world.isLink(target) || path.includes('/')) return
      symlinkSync(target, absolute)
      world.model.apply({ ...change, steps: [{ path, before, after: { kind: 'link', target } }] })
      break
    }
  }
  for (const each of touched) world.remember(each)
  world.checkDisk()
  if (!isSeen) return
  for (const each of touched) {
    await world.call('async_read', { path: each, agent_id: observer })
    if (wasSeen(world, each))
      for (const step of world.model.log.at(-1)?.steps ?? []) if (step.path === each) world.isExact.add(step)
    world.see(each, world.model.at(each))
  }
}

/** Whether the server knew what was there before the last change. */
function wasSeen(world: World, path: string): boolean {
  const step = world.model.log.at(-1)?.steps.find((step) => step.path === path)
  return step?.before !== undefined && isSame(world.seen.get(path), step.before)
}
