// Changes of one file, in all forms in which they can be asked for.
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { editsOf, updateOf } from './forms.ts'
import { edited, linesIn, textOf } from './lines.ts'
import { native } from './native-change.ts'
import type { Step } from './steps.ts'
import type { World } from './world.ts'

export async function write(world: World, { agent, set, name, text, form }: Step & { do: 'write' }): Promise<void> {
  const path = world.pick(name, false)
  if (world.isLink(path)) return
  const lines = textOf(text)
  if (form === 'native') return native(world, path, lines)
  const outcome = world.model.write(world.agent(agent), path, lines)
  const content = lines.join('')
  const item = { path, content }
  if (form === 'PUT') {
    const reply = await world.files('PUT', path, content, { 'If-None-Match': '*' }, agent, set)
    return world.settle(reply, outcome, { agent, set })
  }
  if (form === 'call')
    return world.settle(await world.call('async_write', { ...item, ...world.by(agent, set) }), outcome, {
      agent,
      set
    })
  const { results } = await world.call('async_batch_write', { files: [item], ...world.by(agent, set) })
  return world.settle(results[0], outcome, { agent, set })
}

export async function update(
  world: World,
  { agent, set, name, back, slots, isMerge, form }: Step & { do: 'update' }
): Promise<void> {
  const path = world.pick(name)
  if (world.isLink(path)) return
  const expected = world.version(path, back)
  if (expected === undefined) return
  const wanted = edited(expected, slots)
  if (form === 'native') return back === 0 && world.model.at(path) ? native(world, path, wanted) : undefined
  const edits = form === 'edit_file' && !path.includes('/') ? editsOf(expected, wanted) : undefined
  const outcome = world.model.update(world.agent(agent), path, { expected, wanted, isMerge })
  const expected_hash = hashOf(expected.join(''))
  const on_contention = isMerge ? 'merge' : 'report'
  const by = { agent, set }
  if (edits !== undefined && edits.length > 0) {
    const input = { name: path, edits, expected_hash, on_contention, agent_id: world.agent(agent) }
    const answer = await world.call('edit_file', input, set === undefined ? {} : { 'X-Change-Set': world.set(set) })
    return world.settle(fromEditing(answer), outcome, by)
  }
  const prefer: Record<string, string> = isMerge ? { Prefer: 'merge' } : {}
  const condition = { ...prefer, 'If-Match': `"${expected_hash}"` }
  if (form === 'PUT')
    return world.settle(await world.files('PUT', path, wanted.join(''), condition, agent, set), outcome, by)
  if (form === 'PATCH') {
    const change = updateOf('lines', expected, wanted)
    if ('patches' in change) {
      const headers = { ...condition, 'content-type': 'application/json' }
      return world.settle(await world.files('PATCH', path, JSON.stringify(change), headers, agent, set), outcome, by)
    }
  }
  const item = { path, expected_hash, on_contention, ...updateOf(form, expected, wanted) }
  if (form !== 'batch')
    return world.settle(await world.call('async_update', { ...item, ...world.by(agent, set) }), outcome, by)
  const { results } = await world.call('async_batch_update', { files: [item], ...world.by(agent, set) })
  return world.settle(results[0], outcome, by)
}

export async function append(
  world: World,
  { agent, set, name, back, isMerge, isCreating, hasSeparator }: Step & { do: 'append' }
): Promise<void> {
  const path = world.pick(name)
  if (world.isLink(path)) return
  const expected = back === undefined || world.model.at(path) === undefined ? undefined : world.version(path, back)
  const separator = hasSeparator ? `9.${world.count}-\n` : ''
  const text = world.addition()
  const outcome = world.model.append(world.agent(agent), path, { text, separator, isCreating, expected, isMerge })
  const input = {
    path,
    content: text,
    separator,
    create_if_missing: isCreating,
    on_contention: isMerge ? 'merge' : 'report',
    ...(expected && { expected_hash: hashOf(expected.join('')) })
  }
  world.settle(await world.call('async_append', { ...input, ...world.by(agent, set) }), outcome, { agent, set })
}

export async function rename(
  world: World,
  { agent, set, name, to, isOverwriting, back }: Step & { do: 'rename' }
): Promise<void> {
  const [old_path, new_path] = [world.pick(name), world.path(to)]
  const expected = world.expected(old_path, back)
  const outcome = world.model.rename(old_path, new_path, isOverwriting, expected)
  const version = expected && { expected_hash: hashOf(expected.join('')) }
  const input = { old_path, new_path, overwrite: isOverwriting, ...version, ...world.by(agent, set) }
  world.settle(await world.call('async_rename', input), outcome, { agent, set })
}

export async function remove(world: World, { agent, set, name, back, form }: Step & { do: 'delete' }): Promise<void> {
  const path = world.pick(name)
  const expected = world.expected(path, back)
  const outcome = world.model.remove(path, expected)
  const hash = expected && hashOf(expected.join(''))
  // A DELETE over HTTP goes where the link leads, as every address of a file does, or to the link: the documents do not say.
  if (form === 'DELETE' && !world.isLink(path)) {
    const condition: Record<string, string> = hash === undefined ? {} : { 'If-Match': `"${hash}"` }
    return world.settle(await world.files('DELETE', path, '', condition, agent, set), outcome, { agent, set })
  }
  const input = { path, ...(hash && { expected_hash: hash }), ...world.by(agent, set) }
  return world.settle(await world.call('async_delete', input), outcome, { agent, set })
}

export async function restore(
  world: World,
  { agent, set, name, version, back }: Step & { do: 'restore' }
): Promise<void> {
  const path = world.path(name)
  const text = world.replaced.at(-1 - version)?.text
  // The link that was at a path comes back only with the version that its target has.
  if (text === undefined || world.wasLink(path)) return
  const expected = world.expected(path, back)
  const outcome = world.model.restore(world.agent(agent), path, linesIn(text), expected)
  const expected_hash = expected === undefined ? null : hashOf(expected.join(''))
  const answer = await world.call('async_restore', {
    path,
    hash: hashOf(text),
    expected_hash,
    ...world.by(agent, set)
  })
  world.settle(answer, outcome, { agent, set })
}

/** edit_file answers in a form of its own, with the versions if one was expected. */
function fromEditing(answer: Answer): Answer {
  if (answer['success'] === true) return { status: 'ok', hash: answer['hash'], previous_hash: answer['previous_hash'] }
  const details = (answer['error'] as Answer | undefined)?.['data']?.details as string | undefined
  return details === undefined ? answer : { status: 'error', error_code: details.split(':')[0] }
}
