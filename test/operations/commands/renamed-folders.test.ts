// A command that renames a folder: the files in it keep their own times, and are its own at their new names all the same.
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'

const files = { 'd/x': base, 'd/deep/y': 'y\n', 'd/deep/z': 'z\n', 'e/x': 'other\n', f: 'f\n' }

async function stepsOf({ as }: Scene, agent: string) {
  const { versions } = await as('cid').call('async_history', { by_agent: agent })
  const all = versions as { path: string; hash: string | null; renamed_from?: string; attribution?: string }[]
  const steps = all.map(({ path, hash, renamed_from, attribution }) => [
    path,
    hash === null ? 'gone' : `${renamed_from === undefined ? 'made' : `from ${renamed_from}`} ${attribution}`
  ])
  return Object.fromEntries(steps) as Record<string, string>
}

for (const [title, command] of [
  ['alone', 'mv d new'],
  ['and another file is made in it', 'mv d new && echo made > new/made'],
  ['into another folder', 'mkdir -p new.d/in && mv d new.d/in/new && mv new.d/in/new new && rmdir new.d/in new.d'],
  ['by a program that the line does not name', `${process.execPath} -e "require('fs').renameSync('d', 'n' + 'ew')"`]
] as const)
  t.test(`a folder that is renamed, ${title}`, async (t) => {
    // The look at what differs from HEAD soon after the start is no part of this.
    const scene = await landingScene(t, files, { hooks: { git: 'off' } })
    const { tree, as, git, head, land, shell } = scene
    await shell('ann', command)
    t.match(await stepsOf(scene, 'ann'), {
      'd/x': 'gone',
      'new/x': 'from d/x certain',
      'new/deep/y': 'from d/deep/y certain',
      'new/deep/z': 'from d/deep/z certain'
    })
    t.match(await as('bob').call('async_undo', { by_agent: 'ann', dry_run: true }), { status: 'ok', conflicts: [] })
    t.match(await land('ann'), { status: 'ok', uncertain: [] })
    t.same([head('new/x'), head('new/deep/y'), head('d/x')], [base, 'y\n', undefined])
    t.equal(git('status', '--porcelain'), '')
    t.match(await as('bob').call('async_undo', { by_agent: 'ann' }), { status: 'ok', conflicts: [] })
    t.same([tree.read('d/x'), tree.read('d/deep/z')], [base, 'z\n'])
  })

t.test('folders that exchange their names', async (t) => {
  const scene = await landingScene(t, files)
  const { tree, as, git, head, land, shell } = scene
  await shell('ann', 'mv d t && mv e d && mv t e')
  t.match(await land('ann'), { status: 'ok', uncertain: [] })
  t.same([head('d/x'), head('e/x'), head('e/deep/y')], ['other\n', base, 'y\n'])
  t.equal(git('status', '--porcelain'), '')
  t.match(await as('bob').call('async_undo', { by_agent: 'ann' }), { status: 'ok', conflicts: [] })
  t.same([tree.read('d/x'), tree.read('e/x'), tree.read('d/deep/y')], [base, 'other\n', 'y\n'])
})

/** What is done while the command is under way, right behind what it has made. */
async function during(scene: Scene, command: string, act: () => Promise<unknown>): Promise<void> {
  const hook = async (hook_event_name: string) => {
    const fields = { tool_name: 'Bash', tool_input: { command }, tool_response: {} }
    const body = JSON.stringify({ session_id: 'ann', cwd: scene.tree.root, hook_event_name, ...fields })
    const headers = { 'content-type': 'application/json', 'x-agent-id': 'ann' }
    const answer = await fetch(`${scene.url}/hooks/claude-code`, { method: 'POST', headers, body })
    // The command is known once the whole answer is there.
    await answer.text()
  }
  await hook('PreToolUse')
  execFileSync('sh', ['-c', command], { cwd: scene.tree.root })
  await act()
  await hook('PostToolUse')
}

t.test('another agent that reads a file of it meanwhile has not made it', async (t) => {
  const scene = await landingScene(t, files)
  const { as, git, head, land } = scene
  await during(scene, 'mv d new', () => as('bob').call('async_read', { path: 'new/x' }))
  t.match(await stepsOf(scene, 'ann'), { 'new/x': 'from d/x certain', 'new/deep/y': 'from d/deep/y certain' })
  t.match(await land('ann'), { status: 'ok', uncertain: [] })
  t.same([head('new/x'), git('status', '--porcelain')], [base, ''])
})

t.test('another agent that changes a file of it meanwhile has made its lines only', async (t) => {
  const scene = await landingScene(t, files)
  const { as, git, head, land } = scene
  await during(scene, 'mv d new', () => as('bob').call('async_append', { path: 'new/x', content: 'bob\n' }))
  t.match(await land('ann'), { status: 'ok', uncertain: [] })
  t.equal(head('new/x'), base)
  t.match(await land('bob'), { status: 'ok', paths: ['new/x'] })
  t.same([head('new/x'), git('status', '--porcelain')], [`${base}bob\n`, ''])
})

t.test('nor has another agent made what it reads or changes after its first change in the folder', async (t) => {
  const scene = await landingScene(t, files)
  const { as, git, head, land } = scene
  await during(scene, 'mv d new', async () => {
    for (const path of ['new/x', 'new/deep/z']) await as('bob').call('async_append', { path, content: 'bob\n' })
    await as('cid').call('async_read', { path: 'new/deep/y' })
  })
  t.match(await stepsOf(scene, 'ann'), { 'new/deep/y': 'from d/deep/y certain', 'new/deep/z': / certain/ })
  t.match(await land('ann'), { status: 'ok', uncertain: [] })
  t.same([head('new/x'), head('new/deep/y'), head('new/deep/z')], [base, 'y\n', 'z\n'])
  t.match(await land('bob'), { status: 'ok', paths: ['new/deep/z', 'new/x'] })
  t.same([head('new/deep/z'), git('status', '--porcelain')], ['z\nbob\n', ''])
})

for (const [title, command] of [
  ['a folder that is renamed', 'mv d new'],
  ['a file that is renamed', 'mkdir new && mv d/x new/x']
] as const)
  t.test(`lines keep their authors where another agent changes the file meanwhile: ${title}`, async (t) => {
    const scene = await landingScene(t, files)
    const { as, head, land } = scene
    await edit(as('bob'), 'd/x', 'line 3\n', 'of bob\n')
    await during(scene, command, () => as('cid').call('async_append', { path: 'new/x', content: 'cid\n' }))
    t.match(await stepsOf(scene, 'ann'), { 'new/x': 'from d/x certain', 'd/x': 'gone' })
    const { ranges } = await as('cid').call('async_blame', { path: 'new/x' })
    const authors = (ranges as { start_line: number; agent_id: string | null }[]).map((one) => [
      one.start_line,
      one.agent_id
    ])
    t.same(authors, [
      [1, null],
      [3, 'bob'],
      [4, null],
      [21, 'cid']
    ])
    t.match(await land('bob'), { status: 'ok', uncertain: [] })
    t.equal(head('d/x'), base.replace('line 3\n', 'of bob\n'))
    t.match(await land('ann'), { status: 'ok', uncertain: [] })
    t.match(await land('cid'), { status: 'ok', uncertain: [] })
    t.same([head('d/x'), head('new/x')], [undefined, `${base.replace('line 3\n', 'of bob\n')}cid\n`])
  })

for (const [title, command] of [
  ['appends to', 'mv d/x new && echo ann >> new'],
  ['rewrites in place', "mv d/x new && printf '%s' \"$(cat new)\" > new && printf '\\nann\\n' >> new"],
  [
    'appends to, in a folder that it renames, too,',
    'mv d t && mv t/x new && rmdir t/deep 2>/dev/null; mv t d; echo ann >> new'
  ]
] as const)
  t.test(`a file that one command renames and ${title} keeps the authors of its lines`, async (t) => {
    const scene = await landingScene(t, files)
    const { as, git, head, land, shell } = scene
    await edit(as('bob'), 'd/x', 'line 3\n', 'of bob\n')
    await edit(as('cid'), 'd/x', 'line 9\n', '')
    await shell('ann', command)
    t.match(await stepsOf(scene, 'ann'), { new: 'from d/x certain', 'd/x': 'gone' })
    t.match(await land('ann'), { status: 'ok', uncertain: [] })
    t.same([head('d/x'), head('new')], [undefined, `${base}ann\n`])
    t.match(await land('bob'), { status: 'ok', uncertain: [] })
    t.equal(head('new'), `${base.replace('line 3\n', 'of bob\n')}ann\n`)
    t.match(await land('cid'), { status: 'ok', uncertain: [] })
    t.equal(head('new'), `${base.replace('line 3\n', 'of bob\n').replace('line 9\n', '')}ann\n`)
    t.equal(git('status', '--porcelain'), '')
  })

t.test('files that are there already are not of the command', async (t) => {
  const scene = await landingScene(t, { ...files, '.gitignore': 'cache\n' })
  const { tree, as, shell } = scene
  tree.write('cache/old', 'old\n')
  await shell('ann', 'echo nothing > .gitignore; echo new > cache/new')
  t.notOk('cache/old' in (await stepsOf(scene, 'ann')))
  await during(scene, 'chmod 700 d', () => as('bob').call('async_read', { path: 'd/x' }))
  t.match(await as('bob').call('async_history', { path: 'd/x' }), { versions: [{ agent_id: null }] })
})
