// Differences for models that are shown a text as it is: in the unified form, behind one line of JSON, as short as they can be.
import t, { type Test } from 'tap'
import { connect as connectRest, connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { inTurn } from '../../fixtures/length.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const eras = { '2026': connectModern, '2025': connectLegacy }
type Era = keyof typeof eras

const rows = ['one', '\ttwo "2"', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const textOf = (changes: Record<number, string> = {}) =>
  rows.map((row, index) => `${changes[index + 1] ?? row}\n`).join('')
const base = textOf()
const current = textOf({ 3: '3 "\\t"' })
const unified = `--- expected\n+++ current\n@@ -1,6 +1,6 @@\n one\n \ttwo "2"\n-three\n+3 "\\t"\n four\n five\n six\n`
const bare = `--- expected\n+++ current\n@@ -3 +3 @@\n-three\n+3 "\\t"\n`

async function scene(t: Test, era: Era, settings: object = {}) {
  const { url } = await startServer(t, makeTree(t, { f: base }).root, { mcp: { fields: 'needed', ...settings } })
  const rest = await connectRest(t, 'rest', url, 'rest')
  const enter = async (name: string) => {
    const client = await eras[era](url, 'ann', '', name)
    t.teardown(() => client.close())
    return {
      schemaOf: async (tool: string) => {
        const { tools } = await client.listTools({ _meta: { 'async-crud-mcp/output_schemas': true } })
        return tools.find((one) => one.name === tool)?.outputSchema
      },
      call: async (tool: string, input: object) => {
        const answer = await client.callTool({ name: tool, arguments: { path: 'f', ...input } })
        const [{ text }] = answer['content'] as [{ text: string }]
        const body = answer['structuredContent'] as Answer | undefined
        const end = text.indexOf('\n')
        if (body !== undefined || end === -1) return { body, head: JSON.parse(text) as Answer, shown: undefined }
        return { body, head: JSON.parse(text.slice(0, end)) as Answer, shown: text.slice(end + 1) }
      }
    }
  }
  /** Ann has read the file, and another agent has changed it since. */
  const change = async (ann: Awaited<ReturnType<typeof enter>>) => {
    await ann.call('async_read', {})
    await rest.call('async_update', { path: 'f', expected_hash: hashOf(base), content: current })
  }
  return { enter, change, rest }
}

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`a ${era} client that shows text gets the difference of a contention as text, and has then seen it`, async (t) => {
    const { enter, change, rest } = await scene(t, era)
    const ann = await enter('claude-code')
    await change(ann)
    const late = { expected_hash: hashOf(base), patches: [{ old_string: 'three', new_string: 'mine' }] }
    // The SDK answers the first call of a form, the others go straight to the operation.
    for (let calls = 0; calls < 2; calls += 1) {
      const { body, head, shown } = await ann.call('async_update', late)
      t.equal(body, undefined, 'or else the client shows its model only that')
      t.match(head, { status: 'contention', current_hash: hashOf(current), conflicts: [{ reason: 'not_found' }] })
      t.notOk('diff' in head)
      t.equal(shown, unified)
    }
    t.match((await ann.call('async_read', { known_hash: hashOf(current) })).head, { not_modified: true })
    t.match(await rest.call('async_update', { path: 'f', ...late }), { diff: { format: 'json', changes: [{}] } })
  })

  test(`a ${era} client that shows text gets only the changed lines, if its patches can be sent again`, async (t) => {
    const { enter, change } = await scene(t, era)
    const ann = await enter('gemini-cli-mcp-client')
    await change(ann)
    const patches = [{ old_string: 'nine', new_string: '9' }]
    const { head, shown } = await ann.call('async_update', { expected_hash: hashOf(base), patches })
    t.match(head, { status: 'contention', patches_applicable: true })
    t.equal(shown, bare)
    t.match((await ann.call('async_read', { known_hash: hashOf(current) })).head, { not_modified: true })
    const again = await ann.call('async_update', { expected_hash: head['current_hash'], patches })
    t.strictSame(again.head, { status: 'ok', hash: hashOf(textOf({ 3: '3 "\\t"', 9: '9' })) })
  })

  test(`a ${era} client that shows text gets each kind of difference so`, async (t) => {
    const { enter, change } = await scene(t, era)
    const ann = await enter('opencode')
    await change(ann)
    const old = { expected_hash: hashOf(base) }
    const contentions: readonly (readonly [name: string, input: object])[] = [
      ['async_append', { ...old, content: 'x' }],
      ['async_delete', old],
      ['async_rename', { ...old, path: undefined, old_path: 'f', new_path: 'g' }],
      ['async_restore', { ...old, hash: hashOf(base) }],
      ['edit_file', { ...old, path: undefined, name: 'f', append: 'x' }]
    ]
    for (const [name, input] of contentions) {
      const { body, head, shown } = await ann.call(name, input)
      t.match({ body, head, shown }, { body: undefined, head: { status: 'contention' }, shown: unified }, name)
    }
    const diff = await ann.call('async_diff', { from_hash: hashOf(base) })
    t.strictSame(diff.head, {
      status: 'ok',
      to_hash: hashOf(current),
      modified_by: [{ agent_id: 'rest', operation: 'async_update' }]
    })
    t.equal(diff.shown, unified)
    const patches = [{ old_string: 'nine', new_string: '9' }]
    const merged = await ann.call('async_update', { ...old, patches, on_contention: 'merge' })
    t.match(merged.head, { status: 'ok', merged: true, hash: hashOf(textOf({ 3: '3 "\\t"', 9: '9' })) })
    t.equal(merged.shown, unified)
  })

  test(`a ${era} client that shows text gets what has changed in a long file as text`, async (t) => {
    const { enter, rest } = await scene(t, era)
    const ann = await enter('codex-mcp-client')
    const long = base.repeat(20)
    await rest.call('async_write', { path: 'long', content: long })
    await ann.call('async_read', { path: 'long' })
    await rest.call('async_update', { path: 'long', expected_hash: hashOf(long), content: `zero\n${long}` })
    const { head, shown } = await ann.call('async_read', { path: 'long', known_hash: hashOf(long) })
    t.match(head, { hash: hashOf(`zero\n${long}`), total_lines: 201 })
    t.equal(shown, '--- expected\n+++ current\n@@ -1,3 +1,4 @@\n+zero\n one\n \ttwo "2"\n three\n')
  })

  test(`a ${era} client gets JSON where there are several differences, or it asks, or it is no such client`, async (t) => {
    const { enter, change } = await scene(t, era)
    const [ann, script] = [await enter('claude-code'), await enter('a script')]
    await change(ann)
    const old = { expected_hash: hashOf(base), content: 'x\n' }
    const files = [{ path: 'f', ...old }]
    const { body } = await ann.call('async_batch_update', { path: undefined, files })
    t.match(body, { results: [{ status: 'contention', diff: { format: 'unified', content: unified } }] })
    const asked = await ann.call('async_update', { ...old, diff_format: 'json' })
    t.match(asked.body, { diff: { format: 'json', changes: [{ new_content: '3 "\\t"' }] } })
    t.match((await script.call('async_update', old)).body, { diff: { format: 'json' } })
    const unknown = await ann.call('async_update', { ...old, expected_hash: hashOf('never') })
    t.match(unknown.body, { status: 'contention', base_known: false, diff: null })
    t.equal(await ann.schemaOf('async_update'), undefined, 'a schema would demand structured content')
    t.type(await ann.schemaOf('async_batch_update'), 'object')
    const all = await (await scene(t, era, { fields: 'all' })).enter('claude-code')
    await all.call('async_read', {})
    await all.call('async_update', { ...old, content: current })
    const { head } = await all.call('async_diff', { from_hash: hashOf(base) })
    t.match(head, { path: 'f', diff: { format: 'unified', summary: { lines_modified: 1 } } })
  })
}
