// The story with this server, as its instructions ask: the version with each change, the difference in place of a second read, a merge, a lease.
import { until } from '../../test/fixtures/until.ts'
import type { AskAside, McpScene, Play } from './play.ts'
import { adjusted, type Edit, type Step } from './story.ts'

const [agent_id, other_id] = ['ann', 'bob']

type Lease = Extract<Step, { does: 'lease' }>

export function ourAgent({ ask, askAside }: McpScene): Play {
  const hashes = new Map<string, string>()

  async function change({ path, old, next }: Edit, more: object = {}): Promise<string> {
    const patches = [{ old_string: old, new_string: next }]
    const { shown } = await ask('async_update', { path, expected_hash: hashes.get(path), patches, ...more, agent_id })
    hashes.set(path, find(/"(?:current_)?hash":"(sha256:[0-9a-f]+)"/, shown))
    return shown
  }

  async function lease({ edits, other }: Lease): Promise<void> {
    const filepaths = [...new Set(edits.map(({ path }) => path))]
    const { shown } = await ask('lock_try', { filepaths, note: 'unique e-mail addresses', agent_id })
    let waiting: { readonly made: Promise<void> } | undefined
    for (const edit of edits) {
      const fencing_token = Number(find(new RegExp(`"${edit.path}"[^}]*"fencing_token":(\\d+)`), shown))
      await change(edit, { fencing_token })
      waiting ??= await standInLine(askAside, other)
    }
    await ask('lock_release', { filepaths, agent_id })
    await waiting?.made
  }

  return async (step) => {
    switch (step.does) {
      case 'list':
        return void (await ask('async_list', { path: step.path, agent_id }))
      case 'search':
        return void (await ask('async_list', { path: '.', pattern: step.pattern, recursive: true, agent_id }))
      case 'read': {
        const { shown } = await ask('async_read', { path: step.path, agent_id })
        return void hashes.set(step.path, find(/"hash":"(sha256:[0-9a-f]+)"/, shown))
      }
      case 'edit':
        return void (await change(step.edit))
      case 'contention':
        await changeAside(askAside, step.edit.other)
        await change(step.edit)
        return void (await change(adjusted(step.edit)))
      case 'merge':
        await changeAside(askAside, step.edit.other)
        return void (await change(step.edit, { on_contention: 'merge' }))
      case 'lease':
        return lease(step)
    }
  }
}

/** The other agent's change, with all that it needs for it. */
async function changeAside(askAside: AskAside, { path, old, next }: Edit): Promise<void> {
  const read = await askAside('async_read', { path, agent_id: other_id })
  await askAside('async_update', {
    path,
    expected_hash: find(/"hash":"(sha256:[0-9a-f]+)"/, read),
    patches: [{ old_string: old, new_string: next }],
    on_contention: 'merge',
    agent_id: other_id
  })
}

/** @returns the other agent's change, once it waits for the lease to end, wrapped so that nothing waits for it here */
async function standInLine(askAside: AskAside, edit: Edit): Promise<{ readonly made: Promise<void> }> {
  const made = changeAside(askAside, edit)
  const isWaiting = async () =>
    /"queue_depth":[1-9]/.test(await askAside('lock_status', { filepaths: [edit.path], agent_id: other_id }))
  await until(isWaiting)
  return { made }
}

function find(pattern: RegExp, text: string): string {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`no ${pattern} in: ${text}`)
  return found
}
