// What FES 2.1 to 2.3 and 3.3 promise, line by line, over HTTP and over stdio of the real program.
import { chmodSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  faces,
  failsWith,
  makeFolder,
  resultOf,
  show,
  withoutPrivilege,
  withoutSpace,
  type FaceAnswer
} from '../../fixtures/file-editing.ts'
import { makeTree } from '../../fixtures/tree.ts'

const megabyte = 1_048_576
const five = 'one\ntwo\nthree\nfour\nfive\n'

for (const [transport, start] of Object.entries(faces)) {
  t.test(`over ${transport}`, async (t) => {
    const { face, tree, put } = await makeFolder(t, start, ['--max-size', '1'], { through: withoutPrivilege ?? [] })
    /** It may write little, and does not wait. */
    const narrow = await makeFolder(t, start, [], {
      through: withoutSpace,
      environment: { ASYNC_CRUD_MCP_CRUD__DEFAULT_TIMEOUT: '0' }
    })
    const read = (params: object) => face.call('read_file', params)
    const list = () => face.call('list_files', {})
    const edit = (params: object) => face.call('edit_file', params)
    const fails = (t: Test, operation: string, answer: FaceAnswer, code: number, status: number, title?: string) =>
      failsWith(t, answer, { code, status, operation }, title)

    await t.test('FES 2.1, reading', async (t) => {
      await t.test('a file is read whole, without its line ends, and its lines are counted', async (t) => {
        put({ 'test.txt': 'line1\nline2\nline3' })
        t.strictSame(resultOf(await read({ name: 'test.txt' })), { content: 'line1\nline2\nline3', total_lines: 3 })
      })

      await t.test('with start_line 2 and end_line 3 only lines 2 and 3 come back', async (t) => {
        put({ f: five })
        t.strictSame(resultOf(await read({ name: 'f', start_line: 2, end_line: 3 })), {
          content: 'two\nthree',
          total_lines: 5,
          range_requested: { start_line: 2, end_line: 3 }
        })
      })

      await t.test('a file that does not exist is -32001', async (t) => {
        put({})
        const answer = await read({ name: 'missing.txt' })
        failsWith(t, answer, {
          code: -32001,
          status: 404,
          operation: 'read_file',
          filename: 'missing.txt',
          message: /missing\.txt/
        })
      })

      await t.test('a start_line behind the end_line is -32602, whether the file is there or not', async (t) => {
        put({ f: five })
        for (const name of ['f', 'missing.txt'])
          fails(t, 'read_file', await read({ name, start_line: 5, end_line: 3 }), -32602, 400, name)
      })

      await t.test('a file larger than the limit is -32001; one of just the limit is read', async (t) => {
        put({ large: 'x'.repeat(megabyte + 1), largest: 'x'.repeat(megabyte) })
        fails(t, 'read_file', await read({ name: 'large' }), -32001, 413)
        t.equal(resultOf(await read({ name: 'largest' }))['content'].length, megabyte)
      })

      await t.test('a start_line alone reads to the end, an end_line alone from the beginning', async (t) => {
        put({ f: five })
        t.strictSame(resultOf(await read({ name: 'f', start_line: 4 })), {
          content: 'four\nfive',
          total_lines: 5,
          range_requested: { start_line: 4 }
        })
        t.strictSame(resultOf(await read({ name: 'f', end_line: 2 })), {
          content: 'one\ntwo',
          total_lines: 5,
          range_requested: { end_line: 2 }
        })
      })

      await t.test('an end_line beyond the file is cut, a start_line beyond it is -32602', async (t) => {
        put({ f: five, empty: '' })
        t.match(resultOf(await read({ name: 'f', start_line: 5, end_line: 99 })), { content: 'five' })
        t.match(resultOf(await read({ name: 'f', end_line: 99 })), { total_lines: 5, content: five.trimEnd() })
        fails(t, 'read_file', await read({ name: 'f', start_line: 6 }), -32602, 400)
        fails(t, 'read_file', await read({ name: 'f', start_line: 6, end_line: 7 }), -32602, 400)
        fails(t, 'read_file', await read({ name: 'empty', start_line: 1 }), -32602, 400)
      })

      await t.test('a file that is not UTF-8 is -32001', async (t) => {
        put({ f: Buffer.from([0x61, 0xff, 0x0a]) })
        fails(t, 'read_file', await read({ name: 'f' }), -32001, 400)
      })

      await t.test('CRLF and a lone CR end a line too, one line end at the end of a file is not a line', async (t) => {
        for (const [content, lines] of [
          ['', []],
          ['a', ['a']],
          ['a\n', ['a']],
          ['\n', ['']],
          ['a\n\n', ['a', '']],
          ['a\r\nb\rc\n\rd\r\n', ['a', 'b', 'c', '', 'd']],
          ['a\u2028b\u0085c', ['a\u2028b\u0085c']],
          ['\ufeffa\u{1f600}\n', ['a\u{1f600}']]
        ] as const) {
          put({ f: content })
          const expected = { content: lines.join('\n'), total_lines: lines.length }
          t.strictSame(resultOf(await read({ name: 'f' })), expected, show(content))
        }
      })
    })

    await t.test('FES 2.2, listing', async (t) => {
      await t.test('all files come in the order of their names, with their line counts', async (t) => {
        put({ 'b.txt': 'one\ntwo', 'a.txt': 'one\n', B: '' })
        const { files, total_count, directory } = resultOf(await list())
        t.equal(directory, tree.root)
        t.equal(total_count, 3)
        t.strictSame(
          files,
          [
            ['B', 0, 0],
            ['a.txt', 4, 1],
            ['b.txt', 7, 2]
          ].map(([name, size, lines]) => ({
            name,
            size,
            modified: statSync(tree.path(name as string), { bigint: true }).mtime.toISOString(),
            readable: true,
            writable: true,
            lines
          }))
        )
      })

      await t.test('an empty folder has no files and the count 0', async (t) => {
        put({})
        t.strictSame(resultOf(await list()), { files: [], total_count: 0, directory: tree.root })
      })

      await t.test('directories are not among the files', async (t) => {
        put({ 'directory/inside.txt': 'x', 'f.txt': 'x' })
        t.match(resultOf(await list()), { files: [{ name: 'f.txt' }], total_count: 1 })
      })

      await t.test('hidden files are not among the files', async (t) => {
        put({ '.hidden': 'x', '..odd': 'x', 'f.txt': 'x' })
        t.match(resultOf(await list()), { files: [{ name: 'f.txt' }], total_count: 1 })
      })

      await t.test('a file that is too large or binary has the line count -1', async (t) => {
        put({ binary: Buffer.from([0, 0xff, 0xfe]), large: Buffer.alloc(megabyte + 1, 'x\n'), text: 'x' })
        t.match(resultOf(await list())['files'], [
          { name: 'binary', lines: -1, size: 3 },
          { name: 'large', lines: -1, size: megabyte + 1 },
          { name: 'text', lines: 1 }
        ])
      })

      await t.test(
        'a folder that may not be read is -32001',
        {
          skip: withoutPrivilege === undefined && 'root may read everything, and setpriv is not there to take that away'
        },
        async (t) => {
          put({ f: 'x' })
          resultOf(await list())
          chmodSync(tree.root, 0)
          const answer = await list()
          chmodSync(tree.root, 0o700)
          fails(t, 'list_files', answer, -32001, 403)
          resultOf(await list())
        }
      )

      await t.test('a folder that is gone is -32001', async (t) => {
        put({})
        resultOf(await list())
        // In one step: the server puts its own folder back while the root is there.
        renameSync(tree.root, `${tree.root}-gone`)
        const answer = await list()
        renameSync(`${tree.root}-gone`, tree.root)
        fails(t, 'list_files', answer, -32001, 404)
        resultOf(await list())
      })
    })

    await t.test('FES 2.3, editing', async (t) => {
      const changes = async (t: Test, before: string | undefined, params: object, after: string, answer: object) => {
        put(before === undefined ? {} : { f: before })
        t.strictSame(
          resultOf(await edit({ name: 'f', ...params })),
          { success: true, file_created: before === undefined, ...answer },
          show(params)
        )
        t.equal(tree.read('f'), after)
        const { total_lines, content } = resultOf(await read({ name: 'f' }))
        t.match(
          { new_total_lines: total_lines },
          { new_total_lines: (answer as { new_total_lines: number }).new_total_lines }
        )
        t.equal(content, after.replace('\ufeff', '').replaceAll(/\r\n?/g, '\n').replace(/\n$/, ''))
      }

      await t.test('replace puts a new text in the place of line 2', async (t) => {
        const edits = [{ line: 2, operation: 'replace', content: 'new line' }]
        const after = five.replace('two', 'new line')
        await changes(t, five, { edits }, after, { lines_modified: 1, new_total_lines: 5 })
      })

      await t.test('insert puts a new line at position 3, before the one that was there', async (t) => {
        const edits = [{ line: 3, operation: 'insert', content: 'inserted' }]
        const after = five.replace('three', 'inserted\nthree')
        await changes(t, five, { edits }, after, { lines_modified: 1, new_total_lines: 6 })
      })

      await t.test('insert one line behind the last puts a new line at the end', async (t) => {
        const edits = [{ line: 6, operation: 'insert', content: 'six' }]
        await changes(t, five, { edits }, `${five}six\n`, { lines_modified: 1, new_total_lines: 6 })
      })

      await t.test('delete removes line 2', async (t) => {
        const edits = [{ line: 2, operation: 'delete' }]
        await changes(t, five, { edits }, five.replace('two\n', ''), { lines_modified: 1, new_total_lines: 4 })
      })

      await t.test('a file that does not exist is created with create_if_missing', async (t) => {
        const edits = [{ line: 1, operation: 'insert', content: 'first' }]
        const params = { create_if_missing: true }
        await changes(t, undefined, { ...params, edits }, 'first\n', { lines_modified: 1, new_total_lines: 1 })
        await changes(t, undefined, { ...params, append: 'a\nb' }, 'a\nb\n', { lines_modified: 2, new_total_lines: 2 })
        await changes(t, undefined, params, '', { lines_modified: 0, new_total_lines: 0 })
        await changes(t, five, { ...params, append: 'x' }, `${five}x\n`, { lines_modified: 1, new_total_lines: 6 })
      })

      await t.test('a file that does not exist is -32001 without create_if_missing, and is not created', async (t) => {
        put({})
        fails(t, 'edit_file', await edit({ name: 'f', append: 'x' }), -32001, 404)
        fails(t, 'edit_file', await edit({ name: 'f', append: 'x', create_if_missing: false }), -32001, 404)
        t.notOk(tree.all().includes('f'))
      })

      await t.test('several edits of different lines mean the lines as they were, in any order', async (t) => {
        const edits = [
          { line: 2, operation: 'delete' },
          { line: 6, operation: 'insert', content: 'six' },
          { line: 1, operation: 'insert', content: 'zero' },
          { line: 4, operation: 'replace', content: '4' },
          { line: 3, operation: 'insert', content: 'before three' },
          { line: 3, operation: 'insert', content: 'also before three' }
        ]
        const after = 'zero\none\nbefore three\nalso before three\nthree\n4\nfive\nsix\n'
        await changes(t, five, { edits }, after, { lines_modified: 6, new_total_lines: 8 })
      })

      await t.test('what is appended stands behind all edits, on lines of its own', async (t) => {
        const edits = [{ line: 3, operation: 'insert', content: 'x' }]
        const params = { edits, append: 'y\nz' }
        await changes(t, 'a\nb', params, 'a\nb\nx\ny\nz', { lines_modified: 3, new_total_lines: 5 })
        await changes(t, 'a\nb\n', params, 'a\nb\nx\ny\nz\n', { lines_modified: 3, new_total_lines: 5 })
      })

      await t.test(
        'a replacement may have several lines; one line break at its end is not an extra line',
        async (t) => {
          const replace = (content: string) => ({ edits: [{ line: 2, operation: 'replace', content }] })
          await changes(t, 'a\nb\nc\n', replace('x\ny\n'), 'a\nx\ny\nc\n', { lines_modified: 2, new_total_lines: 4 })
          await changes(t, 'a\nb\nc\n', replace('x\n\n'), 'a\nx\n\nc\n', { lines_modified: 2, new_total_lines: 4 })
          await changes(t, 'a\nb\nc\n', replace(''), 'a\n\nc\n', { lines_modified: 1, new_total_lines: 3 })
        }
      )

      await t.test('the line ends of the file, its mark and a missing final line break stay', async (t) => {
        const edits = [{ line: 2, operation: 'replace', content: 'x\ny' }]
        const answer = { lines_modified: 2, new_total_lines: 4 }
        await changes(t, '\ufeffa\r\nb\r\nc', { edits }, '\ufeffa\r\nx\r\ny\r\nc', answer)
        await changes(t, 'a\rb\rc\r', { edits }, 'a\rx\ry\rc\r', answer)
        await changes(t, 'a\nb\r\nc\n', { edits }, 'a\nx\r\ny\r\nc\n', answer)
      })

      await t.test('one impossible edit fails them all: -32602, and not a byte changes', async (t) => {
        const good = { line: 1, operation: 'replace', content: 'x' }
        const cases: [string, object[], RegExp][] = [
          [
            'replace behind the last line',
            [good, { line: 6, operation: 'replace', content: 'x' }],
            /Line 6 out of range/
          ],
          ['delete behind the last line', [good, { line: 6, operation: 'delete' }], /Line 6 out of range/],
          [
            'insert two behind the last line',
            [good, { line: 7, operation: 'insert', content: 'x' }],
            /Line 7 out of range/
          ],
          ['delete with content', [good, { line: 2, operation: 'delete', content: 'x' }], /cannot specify content/],
          ['replace without content', [good, { line: 2, operation: 'replace' }], /needs content/],
          ['insert without content', [good, { line: 2, operation: 'insert' }], /needs content/],
          ['two replacements of one line', [good, good], /two edits/],
          ['a replacement and a deletion of one line', [good, { line: 1, operation: 'delete' }], /two edits/]
        ]
        put({ f: five })
        const { mtimeNs, ino } = statSync(tree.path('f'), { bigint: true })
        for (const [title, edits, message] of cases) {
          const answer = await edit({ name: 'f', edits, append: 'y' })
          failsWith(t, answer, { code: -32602, status: 400, operation: 'edit_file', filename: 'f', message }, title)
        }
        t.equal(tree.read('f'), five)
        t.match(statSync(tree.path('f'), { bigint: true }), { mtimeNs, ino }, 'it was not written at all')
        fails(t, 'edit_file', await edit({ name: 'new', edits: [good], create_if_missing: true }), -32602, 400)
        t.notOk(tree.all().includes('new'), 'nor is a file created')
      })

      await t.test(
        'edits are looked at before the file: faults of their own are -32602 also where it is missing',
        async (t) => {
          put({})
          for (const wrong of [
            { line: 1, operation: 'delete', content: 'x' },
            { line: 0, operation: 'delete' },
            { line: 1, operation: 'move' }
          ])
            fails(t, 'edit_file', await edit({ name: 'f', edits: [wrong] }), -32602, 400, show(wrong))
        }
      )

      await t.test('a file that is not UTF-8 is -32001 and stays as it is', async (t) => {
        const bytes = Buffer.from([0x61, 0xff, 0x0a])
        put({ f: bytes })
        fails(t, 'edit_file', await edit({ name: 'f', append: 'x' }), -32001, 400)
        t.strictSame(tree.bytes('f'), bytes)
      })

      await t.test('the mode of a file stays, and no temporary file does', async (t) => {
        put({ f: five })
        chmodSync(tree.path('f'), 0o750)
        resultOf(await edit({ name: 'f', append: 'x' }))
        t.equal(statSync(tree.path('f')).mode & 0o777, 0o750)
        t.strictSame(
          tree.all().filter((name) => name.includes('tmp')),
          []
        )
      })
    })

    await t.test('FES 3.3, error codes', async (t) => {
      await t.test('-32700: what is no JSON', async (t) => {
        const { error, httpStatus } = await face.callRaw('read_file', '{"name": "f"')
        t.match(error, { code: -32700, message: /not valid JSON/ })
        if (httpStatus !== undefined) t.equal(httpStatus, 400)
      })

      await t.test('-32600: a required field is missing', async (t) => {
        fails(t, 'read_file', await read({}), -32600, 400)
        fails(t, 'edit_file', await edit({}), -32600, 400)
        fails(t, 'edit_file', await edit({ name: 'f', edits: [{ operation: 'delete' }] }), -32600, 400)
        fails(t, 'edit_file', await edit({ name: 'f', edits: [{ line: 1 }] }), -32600, 400)
      })

      await t.test(
        '-32601: a method that does not exist',
        { skip: transport === 'http' && 'HTTP has routes' },
        async (t) => {
          const { error } = await face.call('delete_file', { name: 'f' })
          t.match(error, { code: -32601, message: /delete_file.*edit_file/ })
        }
      )

      await t.test('-32602: parameters that are not valid', async (t) => {
        failsWith(t, await read({ name: '..', start_line: 1 }), {
          code: -32602,
          status: 400,
          operation: 'read_file',
          filename: '..'
        })
      })

      await t.test('-32603 and 500: the system fails; the file is as it was', async (t) => {
        const { face, tree, put } = narrow
        put({ f: five })
        const append = 'x'.repeat(200_000)
        fails(t, 'edit_file', await face.call('edit_file', { name: 'f', append }), -32603, 500)
        t.equal(tree.read('f'), five)
        fails(t, 'edit_file', await face.call('edit_file', { name: 'g', append, create_if_missing: true }), -32603, 500)
        t.notOk(tree.all().includes('g'))
        t.notMatch(tree.all(), [/tmp/], 'no temporary file stays')
        t.match(
          resultOf(await face.call('edit_file', { name: 'f', append: 'x' })),
          { success: true },
          'it goes on working'
        )
      })
    })

    await t.test('FES 3.3, what makes each status', async (t) => {
      await t.test('200: success', async (t) => {
        put({ f: five })
        const { httpStatus = 200, error } = await read({ name: 'f' })
        t.match({ httpStatus, error }, { httpStatus: 200, error: undefined })
      })

      await t.test('400: invalid input, and what is no text file', async (t) => {
        put({ 'directory/f': 'x' })
        fails(t, 'read_file', await read({ name: 'f', start_line: 0 }), -32602, 400)
        fails(t, 'read_file', await read({ name: 'directory' }), -32001, 400)
        fails(t, 'edit_file', await edit({ name: 'directory', append: 'x' }), -32001, 400)
        fails(t, 'edit_file', await edit({ name: 'directory', append: 'x', create_if_missing: true }), -32001, 400)
      })

      await t.test('404: no such file', async (t) => {
        put({})
        fails(t, 'read_file', await read({ name: 'f' }), -32001, 404)
      })

      await t.test('403: a file of the server itself, and a link that leads out of the folder', async (t) => {
        const outside = makeTree(t, { secret: 'secret' })
        put({})
        mkdirSync(tree.path('sub'))
        symlinkSync(outside.path('secret'), tree.path('link'))
        symlinkSync(outside.path('new'), tree.path('dangling'))
        for (const name of ['link', 'dangling']) {
          fails(t, 'read_file', await read({ name }), -32602, 403, name)
          fails(t, 'edit_file', await edit({ name, append: 'x', create_if_missing: true }), -32602, 403, name)
        }
        t.strictSame(outside.all(), ['secret'])
        t.equal(outside.read('secret'), 'secret')
        fails(t, 'read_file', await read({ name: '.async-crud-mcp' }), -32001, 403)
      })

      await t.test(
        '403: permission denied',
        {
          skip: withoutPrivilege === undefined && 'root may do everything, and setpriv is not there to take that away'
        },
        async (t) => {
          put({ secret: 'x', fixed: five })
          chmodSync(tree.path('secret'), 0)
          chmodSync(tree.path('fixed'), 0o400)
          t.match(resultOf(await list())['files'], [
            { name: 'fixed', readable: true, writable: false, lines: 5 },
            { name: 'secret', readable: false, writable: false, lines: -1 }
          ])
          fails(t, 'read_file', await read({ name: 'secret' }), -32001, 403)
          fails(t, 'edit_file', await edit({ name: 'fixed', append: 'x' }), -32001, 403)
          t.equal(tree.read('fixed'), five)
        }
      )

      await t.test('413: a file, or what an edit would make of it, beyond the limit', async (t) => {
        const largest = 'x'.repeat(megabyte)
        put({ large: `${largest}x`, largest })
        fails(t, 'read_file', await read({ name: 'large' }), -32001, 413)
        fails(t, 'edit_file', await edit({ name: 'large', append: 'x' }), -32001, 413)
        fails(t, 'edit_file', await edit({ name: 'largest', append: 'x' }), -32001, 413)
        const create = { append: largest, create_if_missing: true }
        fails(t, 'edit_file', await edit({ name: 'new', ...create }), -32001, 413, 'with its final line break')
        t.equal(tree.read('largest'), largest)
        t.notOk(tree.all().includes('new'))
      })

      await t.test('409: somebody else is changing the file, and the call would not wait', async (t) => {
        const { face, put } = narrow
        put({ f: '' })
        const acknowledged: string[] = []
        const refused: FaceAnswer[] = []
        // Twenty at once: while one of them is on its way to the disk, others come.
        for (let round = 0; refused.length === 0; round += 1) {
          const lines = Array.from({ length: 20 }, (_, index) => `line ${round}.${index}`)
          const answers = await Promise.all(lines.map((append) => face.call('edit_file', { name: 'f', append })))
          answers.forEach((answer, index) =>
            answer.result === undefined ? refused.push(answer) : acknowledged.push(lines[index] as string)
          )
        }
        for (const answer of refused) fails(t, 'edit_file', answer, -32001, 409)
        const { content } = resultOf(await face.call('read_file', { name: 'f' }))
        t.strictSame(
          (content as string).split('\n').sort(),
          acknowledged.sort(),
          'what was acknowledged is there, no more'
        )
      })
    })
  })
}
