// What a session has seen of a file, by hooks: lines, never a version. A whole file is replaced only by a session that has seen all of it.
import t from 'tap'
import {
  change,
  content,
  contextOf,
  diffIn,
  edit,
  lines,
  refusalOf,
  startHooks as start
} from '../fixtures/native-session.ts'

const grep = (found: string) => ({ mode: 'content', numFiles: 1, filenames: [], content: found })

t.test('a line that a search shows does not stand for the file', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await change(bob, 'a.txt', 'line 20\n', 'by bob\n')
  await anna.tool('PostToolUse', 'Grep', { pattern: 'line 3$' }, { tool_response: grep('a.txt:3:line 3') })
  const refused = refusalOf(await anna.before('Write', { file_path: path, content: 'all new\n' }))
  t.match(refused, '+by bob')
  t.same(await anna.before('Write', { file_path: path, content: 'all new\n' }), {}, 'now it has seen the whole')
})

t.test('two lines of a file do not stand for the file, in any harness that reports its reads', async (t) => {
  const { tree, session, hook } = await start(t, {}, { 'b.txt': content, 'c.txt': content })
  const anna = session('anna')
  const path = tree.path('a.txt')
  const input = { file_path: path, content: 'all new\n' }
  await anna.read(path, lines.slice(9, 11).join('\n'), 10)
  t.match(refusalOf(await anna.before('Write', input)), /You have not seen lines 1 to 9, lines 12 to 30 of .*a\.txt/)
  const file = { content: lines.slice(0, 9).join('\n'), startLine: 1, numLines: 9, totalLines: 30 }
  await anna.tool('PostToolUse', 'Read', { file_path: path }, { tool_response: { type: 'text', file } })
  t.match(refusalOf(await anna.before('Write', input)), /not seen lines 12 to 30 of/)
  t.same(await anna.before('Edit', edit(path, 'line 11\n', 'eleven\n')), {}, 'an edit by text replaces only that')
  await anna.ask('PostToolUseFailure', {
    tool_name: 'Edit',
    tool_input: edit(path, 'line 11\n', 'eleven\n'),
    error: 'x'
  })
  await anna.read(path, lines.slice(11).join('\n'), 12)
  t.same(await anna.before('Write', input), {}, 'page by page it has seen all')

  const gemini = (name: string, tool_name: string, tool_input: object, more: object = {}) =>
    hook('gemini', { session_id: 'g', cwd: tree.root, hook_event_name: name, tool_name, tool_input, ...more })
  const b = { file_path: tree.path('b.txt'), content: 'all new\n' }
  const found = '---\nFile: b.txt\nL12: line 12\n---'
  const tool_response = { llmContent: `Found 1 match for pattern "x" in path ".":\n${found}` }
  await gemini('AfterTool', 'grep_search', { pattern: 'x' }, { tool_response })
  t.match((await gemini('BeforeTool', 'write_file', b))['reason'], /not seen lines 1 to 11, lines 13 to 30 of/)

  const opencode = (event: string, tool: string, args: object, more: object = {}) =>
    hook('opencode', { sessionID: 's', callID: 'c', event, tool, directory: tree.root, args, ...more })
  const c = { filePath: tree.path('c.txt'), content: 'all new\n' }
  await opencode(
    'tool.execute.after',
    'read',
    { filePath: c.filePath },
    { output: '<file>\n00003| line 3\n00004| line 4\n' }
  )
  t.match((await opencode('tool.execute.before', 'write', c))['refusal'], /not seen lines 1 to 2, lines 5 to 30 of/)
})

t.test('a file that a session has never seen is not replaced, whoever made it', async (t) => {
  const { tree, session } = await start(t, {}, { 'empty.txt': '' })
  const anna = session('anna')
  const input = { file_path: tree.path('a.txt'), content: 'all new\n' }
  t.match(refusalOf(await anna.before('Write', input)), /You have not read .*a\.txt/)
  t.same(await anna.before('Write', { ...input, file_path: tree.path('empty.txt') }), {}, 'there is nothing to lose')
  t.same(await anna.before('Write', { ...input, file_path: tree.path('new.txt') }), {}, 'nor here')
})

t.test('what another agent removes is not brought back unseen', async (t) => {
  const { tree, bob, session } = await start(t)
  const path = tree.path('a.txt')
  for (const [index, line] of ['line 1\n', 'line 15\n', 'line 30\n'].entries()) {
    tree.write('a.txt', content)
    await bob.call('async_read', { path: 'a.txt' })
    const anna = session(`anna${index}`)
    await anna.read(path, content)
    await change(bob, 'a.txt', line, '')
    t.match(
      refusalOf(await anna.before('Write', { file_path: path, content: `${content}x\n` })),
      `-${line.trim()}`,
      line
    )
  }
})

t.test('a session knows lines that it wrote itself, beside those that it has seen, and no others', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  const make = async (from: string, to: string) => {
    t.same(await anna.before('Edit', edit(path, from, to)), {}, from)
    tree.write('a.txt', tree.read('a.txt').replace(from, to))
    await anna.after('Edit', edit(path, from, to))
  }
  await make('line 5\n', 'line 5\nfive b\n')
  t.match(
    refusalOf(await anna.before('Write', { file_path: path, content: 'x' })),
    /You have not seen lines 1 to 5, lines 7 to 31 of .*a\.txt/
  )
  await anna.read(path, lines.slice(6).join('\n'), 8)
  await change(bob, 'a.txt', 'line 29\n', 'by bob\n')
  await make('five b\n', '5b\n')
  t.match(refusalOf(await anna.before('Write', { file_path: path, content: 'x' })), /bob/)
  await anna.read(path, tree.read('a.txt'))
  t.same(await anna.before('Write', { file_path: path, content: 'x' }), {})
})

t.test('a read that is reported late is told of what was changed since, though other lines were told', async (t) => {
  const { tree, bob, session } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, lines.slice(1, 3).join('\n'), 2)
  const { hash } = await bob.call('async_read', { path: 'a.txt' })
  const patches = ['line 3\n', 'line 20\n'].map((old_string) => ({ old_string, new_string: 'by bob\n' }))
  await bob.call('async_update', { path: 'a.txt', expected_hash: hash, patches })
  const told = contextOf(await anna.ask('UserPromptSubmit', { prompt: 'x' }))
  t.match(told, /bob changed .*a\.txt since you read it: line 3\./)
  t.match(contextOf(await anna.read(path, lines.slice(18, 21).join('\n'), 19)), /: (line 3, )?line 20\./)
  t.same(await anna.ask('UserPromptSubmit', { prompt: 'x' }), {}, 'once')
})

t.test('what an agent restores it has not seen', async (t) => {
  const { tree, bob, session, history } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await change(bob, 'a.txt', 'line 3\n', 'by bob\n')
  await change(bob, 'a.txt', 'by bob\n', '3\n')
  await anna.read(path, tree.read('a.txt'))
  const byBob = (await history('a.txt'))[1]?.['hash']
  const agent_id = 'claude-code/anna'
  t.match(await bob.call('async_restore', { path: 'a.txt', hash: byBob, agent_id }), { status: 'ok' })
  const refused = refusalOf(await anna.before('Write', { file_path: path, content: 'x' }))
  t.match(refused, '+by bob')
})

// Row 12: own edits.

/** What tools make of an edit beside what it says. */
const liberties: readonly (readonly [title: string, from: string, to: string, make: (text: string) => string])[] = [
  ['an emptied line goes with its line end', 'line 3', '', (text) => text.replace('line 3\n', '')],
  ['emptied lines go with their line end', 'line 3\nline 4', '', (text) => text.replace('line 3\nline 4\n', '')],
  [
    'white space at the end of a line goes',
    'line 3\n',
    'third  \nb\t\n',
    (text) => text.replace('line 3\n', 'third\nb\n')
  ],
  ['quotes become typographic', 'line 3\n', "it's\n", (text) => text.replace('line 3\n', 'it’s\n')],
  ['line ends change', 'line 3\n', 'third\n', (text) => text.replace('line 3\n', 'third\n').replaceAll('\n', '\r\n')],
  ['the end of the last line goes', 'line 30\n', 'thirty\n', (text) => text.replace('line 30\n', 'thirty')],
  [
    'the text is found but for its indent',
    '  line 3\n  line 4\n',
    '  3\n',
    (text) => text.replace('line 3\nline 4\n', '3\n')
  ],
  ['the new text is formatted', 'line 3\n', 'a(b)\n', (text) => text.replace('line 3\n', 'a(\n  b\n)\n')]
]

for (const [title, from, to, make] of liberties)
  t.test(`an own edit is not told to its session, nor a reason to refuse the next one: ${title}`, async (t) => {
    const { tree, session, history } = await start(t)
    const anna = session('anna')
    const path = tree.path('a.txt')
    await anna.read(path, content)
    t.same(await anna.before('Edit', edit(path, from, to)), {})
    tree.write('a.txt', make(content))
    t.same(await anna.after('Edit', edit(path, from, to)), {})
    t.match(await history('a.txt'), [{ agent_id: 'claude-code/anna', operation: 'native_edit' }, {}])
    t.same(await anna.ask('UserPromptSubmit', { prompt: 'x' }), {}, 'it is not told')
    t.same(await anna.before('Write', { file_path: path, content: 'x' }), {}, 'nor refused')
  })

const one = edit('', 'line 3\n', 'third\n')
const two = edit('', 'line 20\n', 'twenty\n')

for (const order of ['b1 b2 a1 a2', 'b1 b2 a2 a1', 'b1 b2 a2', 'b1 b2 f1 a2', 'b1 b2 a1 f2', 'b1 b2 x1 x2'])
  t.test(`two edits of one file that are announced before either is made: ${order}`, async (t) => {
    const isBrief = !order.includes('a1') && !order.includes('f1')
    const { tree, bob, hook, history } = await start(t, { locks: { native_edit_seconds: isBrief ? 0.5 : 5 } })
    const path = tree.path('a.txt')
    const ask = (name: string, which: string, more: object = {}) =>
      hook('claude-code', {
        session_id: 'anna',
        cwd: tree.root,
        hook_event_name: name,
        tool_name: 'Edit',
        tool_input: { ...(which === '1' ? one : two), file_path: path },
        tool_use_id: `toolu_${which}`,
        ...more
      })
    const file = { content: content.trimEnd(), startLine: 1, totalLines: 30 }
    await hook('claude-code', {
      session_id: 'anna',
      cwd: tree.root,
      hook_event_name: 'PostToolUse',
      tool_name: 'Read',
      tool_input: { file_path: path },
      tool_response: { type: 'text', file }
    })
    const make = (which: string) => {
      const { old_string, new_string } = which === '1' ? one : two
      tree.write('a.txt', tree.read('a.txt').replace(old_string, new_string))
    }
    const began = performance.now()
    for (const [kind = '', which = ''] of order.split(' ').map((step) => step.split(''))) {
      if (kind === 'b') t.same(await ask('PreToolUse', which), {}, `before ${which}`)
      if (kind === 'f') t.same(await ask('PostToolUseFailure', which, { error: 'x' }), {}, `failed ${which}`)
      if (kind === 'x') make(which)
      if (kind !== 'a') continue
      make(which)
      t.same(await ask('PostToolUse', which, { tool_response: {} }), {}, `after ${which}`)
    }
    t.ok(performance.now() - began < 4000, 'no hook waits for its own session')
    // Waits for the end of a turn of which no end is reported.
    t.equal((await bob.call('async_append', { path: 'a.txt', content: 'by bob\n' }))['status'], 'ok')
    const versions = (await history('a.txt')).filter(({ agent_id }) => agent_id !== 'bob')
    t.match(versions[0], { agent_id: 'claude-code/anna', operation: 'native_edit' })
    const told = contextOf(await ask('UserPromptSubmit', '1'))
    t.match(told, /bob changed/)
    t.notMatch(told, 'anna changed')
    const next = { session_id: 'anna', cwd: tree.root, hook_event_name: 'PreToolUse', tool_name: 'Write' }
    const refused = refusalOf(
      await hook('claude-code', { ...next, tool_input: { file_path: path, content: 'x' }, tool_use_id: 'toolu_3' })
    )
    t.match(refused, '+by bob')
    t.notMatch(diffIn(refused), /^[+-](third|twenty|line)/m, 'only what bob has made')
  })

t.test('a formatter that runs behind an edit is told as that, and only its lines', async (t) => {
  const { tree, session, history } = await start(t)
  const anna = session('anna')
  const path = tree.path('a.txt')
  await anna.read(path, content)
  const input = edit(path, 'line 3\n', 'third\n')
  await anna.before('Edit', input)
  tree.write('a.txt', content.replace('line 3\n', 'third\n').replace('line 20\n', 'LINE 20\n'))
  const told = contextOf(await anna.after('Edit', input))
  t.match(told, /Another program, such as a formatter, changed .*a\.txt behind your edit: line 20\./)
  t.notMatch(told, 'anna')
  t.match((await history('a.txt'))[0], { agent_id: 'claude-code/anna', operation: 'native_edit_probable' })
  const refused = refusalOf(await anna.before('Write', { file_path: path, content: 'x' }))
  t.match(refused, '+LINE 20')
  t.notMatch(refused, 'claude-code/anna changed')
  t.same(await anna.before('Edit', edit(path, 'third\n', '3\n')), {}, 'its own lines it may change')
})
