// The session that the examples of the OpenAPI document are recorded from: ann and bob change the files of one project.
import { createHash } from 'node:crypto'
import { landings } from './land-story.ts'
import { layers } from './layer-story.ts'
import { leases } from './lease-story.ts'
import { menu, merges } from './merge-story.ts'
import type { Step } from './step.ts'

const lines = [
  '# Plan',
  '',
  '- write the parser',
  '- test the parser',
  '- write the printer',
  '- test the printer',
  '- measure both',
  '- release',
  ''
]
const plan = lines.join('\n')
const planOfAnn = plan.replace('write the parser', 'write the parser (ann)')
const planOfBoth = planOfAnn.replace('test the parser', 'test the parser (bob)').replace('release', 'release on Friday')
const finalPlan = `${planOfBoth}- celebrate\n`
const notes = 'Parsers are read more often than they are written.\n'
const maxFileBytes = 10_485_760

const path = 'plan.md'
const ann = { agent_id: 'ann' }
const bob = { agent_id: 'bob' }

function hashOf(content: string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

/** Two agents read one version, both change it, and the second learns in time what the first has done. */
const contention: readonly Step[] = [
  {
    operation: 'async_write',
    name: 'create',
    summary: 'ann creates the plan.',
    input: { path, content: plan, ...ann }
  },
  {
    operation: 'async_read',
    name: 'whole_file',
    summary: 'bob reads the plan and keeps its hash.',
    input: { path, ...bob }
  },
  {
    operation: 'async_read',
    name: 'some_lines',
    summary: 'Two lines, with the hash of the whole file.',
    input: { path, offset: 2, limit: 2 }
  },
  {
    operation: 'async_update',
    name: 'first',
    summary: 'ann takes a line, for the version that both have read.',
    input: {
      path,
      expected_hash: hashOf(plan),
      patches: [{ old_string: 'write the parser', new_string: 'write the parser (ann)' }],
      ...ann
    }
  },
  {
    operation: 'async_update',
    name: 'too_late',
    summary: 'bob takes the same line for the version before: nothing is written, and he learns what ann has changed.',
    input: {
      path,
      expected_hash: hashOf(plan),
      patches: [
        { old_string: 'write the parser\n', new_string: 'write the parser (bob)\n' },
        { old_string: 'release', new_string: 'release on Friday' }
      ],
      ...bob
    },
    status: 409
  },
  {
    operation: 'async_update',
    name: 'second_try',
    summary: 'bob takes another line instead and sends current_hash: it is done.',
    input: {
      path,
      expected_hash: hashOf(planOfAnn),
      patches: [
        { old_string: 'test the parser', new_string: 'test the parser (bob)' },
        { old_string: 'release', new_string: 'release on Friday' }
      ],
      ...bob
    }
  },
  {
    operation: 'async_update',
    name: 'too_late_unified',
    summary: 'ann replaces the whole content for an old version and asks for the difference as a unified diff.',
    input: { path, expected_hash: hashOf(planOfAnn), content: '# Plan\n', diff_format: 'unified', ...ann },
    status: 409
  },
  {
    operation: 'async_append',
    name: 'add_a_line',
    summary: 'ann adds a line at the end; that needs no hash.',
    input: { path, content: '- celebrate\n', ...ann }
  }
]

const batches: readonly Step[] = [
  {
    operation: 'async_batch_write',
    name: 'one_exists',
    summary: 'ann creates two files: the first is new, the second exists.',
    input: {
      files: [
        { path: 'docs/notes.md', content: notes },
        { path, content: plan }
      ],
      ...ann
    }
  },
  {
    operation: 'async_batch_read',
    name: 'one_is_missing',
    summary: 'bob reads two files, of which one does not exist.',
    input: { files: [{ path: 'docs/notes.md' }, { path: 'docs/todo.md' }], ...bob }
  },
  {
    operation: 'async_batch_update',
    name: 'one_comes_too_late',
    summary: 'bob changes two files: the first is the version he knows, the second has changed.',
    input: {
      files: [
        { path: 'docs/notes.md', expected_hash: hashOf(notes), content: `${notes}So are plans.\n` },
        {
          path,
          expected_hash: hashOf(planOfBoth),
          patches: [{ old_string: 'measure both', new_string: 'measure both (bob)' }]
        }
      ],
      ...bob
    }
  }
]

const looksBack: readonly Step[] = [
  {
    operation: 'async_read',
    name: 'not_modified',
    summary: 'ann knows the plan as it is: there is nothing to send. bob has changed her notes, and she gets a notice.',
    input: { path, known_hash: hashOf(finalPlan), ...ann }
  },
  {
    operation: 'async_history',
    name: 'of_a_file',
    summary: 'The last two versions of the plan.',
    input: { path, limit: 2, ...bob }
  },
  {
    operation: 'async_diff',
    name: 'since_the_first',
    summary: 'What has changed since the first version, and who changed it.',
    input: { path, from_hash: hashOf(plan), diff_format: 'unified', ...bob }
  },
  {
    operation: 'async_diff',
    name: 'not_kept',
    summary: 'The server never had such a version.',
    input: { path, from_hash: hashOf('never') },
    status: 404,
    code: 'VERSION_NOT_KEPT'
  },
  {
    operation: 'async_restore',
    name: 'too_late',
    summary: 'ann has seen another version of the plan than the current one: nothing is written.',
    input: { path, hash: hashOf(plan), expected_hash: hashOf(planOfBoth), ...ann },
    status: 409
  }
]

const overview: readonly Step[] = [
  {
    operation: 'async_list',
    name: 'markdown_with_hashes',
    summary: 'All Markdown files of the project, with the hashes the server knows.',
    input: { path: '.', pattern: '*.md', recursive: true, include_hashes: true }
  },
  { operation: 'async_status', name: 'server', summary: 'The server as a whole.', input: {} },
  {
    operation: 'async_status',
    name: 'file',
    summary: 'One file: its hash, and who holds or awaits its lock.',
    input: { path }
  },
  {
    operation: 'get_server_info',
    name: 'server_and_project',
    summary: 'Which process answers, and for which project. This one is in no Git repository.',
    input: {}
  },
  { operation: 'health', name: 'healthy', summary: 'What a monitor sees.', method: 'GET' }
]

const folder: readonly Step[] = [
  { operation: 'list_files', name: 'folder', summary: 'The files of the folder.', input: {} },
  {
    operation: 'read_file',
    name: 'some_lines',
    summary: 'Two lines of the plan.',
    input: { name: path, start_line: 3, end_line: 4 }
  },
  {
    operation: 'edit_file',
    name: 'three_edits',
    summary: 'A line is replaced, one inserted and one added; all numbers mean the file as it was.',
    input: {
      name: 'tasks.txt',
      edits: [
        { line: 1, operation: 'replace', content: 'buy bread' },
        { line: 2, operation: 'insert', content: 'buy cheese' }
      ],
      append: 'cook'
    }
  },
  {
    operation: 'edit_file',
    name: 'create',
    summary: 'A new file.',
    input: { name: 'ideas.txt', append: 'a printer that parses', create_if_missing: true }
  }
]

const farewell: readonly Step[] = [
  {
    operation: 'async_rename',
    name: 'too_late',
    summary: 'bob renames the version he knows, but ann has added a line since.',
    input: { old_path: path, new_path: 'docs/plan.md', expected_hash: hashOf(planOfBoth), ...bob },
    status: 409
  },
  {
    operation: 'async_rename',
    name: 'move',
    summary: 'He has seen her line and moves the file.',
    input: { old_path: path, new_path: 'docs/plan.md', expected_hash: hashOf(finalPlan), ...bob }
  },
  {
    operation: 'async_delete',
    name: 'too_late',
    summary: 'ann deletes the notes she wrote, but bob has changed them since.',
    input: { path: 'docs/notes.md', expected_hash: hashOf(notes), ...ann },
    status: 409
  },
  {
    operation: 'async_delete',
    name: 'delete',
    summary: 'She has seen his line and deletes the file.',
    input: { path: 'docs/notes.md', expected_hash: hashOf(`${notes}So are plans.\n`), ...ann }
  },
  {
    operation: 'async_restore',
    name: 'back_again',
    summary: 'bob brings the notes back, in the version that ann wrote.',
    input: { path: 'docs/notes.md', hash: hashOf(notes), ...bob }
  },
  {
    operation: 'async_transaction',
    name: 'both_or_none',
    summary: 'ann changes the notes and adds a file, both or none, as parts of one task.',
    input: {
      changes: [
        { operation: 'append', path: 'docs/notes.md', content: 'Names are not.\n' },
        { operation: 'write', path: 'docs/names.md', content: '# Names\n' }
      ],
      change_set: 'names',
      ...ann
    }
  },
  {
    operation: 'async_transaction',
    name: 'too_late',
    summary: 'bob knows an older version of the notes: neither of his changes is made.',
    input: {
      changes: [
        { operation: 'update', path: 'docs/notes.md', expected_hash: hashOf(notes), content: 'Nothing.\n' },
        { operation: 'delete', path: 'docs/names.md' }
      ],
      ...bob
    },
    status: 409
  },
  {
    operation: 'async_blame',
    name: 'of_a_file',
    summary: 'Who made each line of the notes.',
    input: { path: 'docs/notes.md', ...bob }
  },
  {
    operation: 'replay',
    name: 'of_a_moment',
    summary: 'An operator looks at the plan as it is after the last change of the log.',
    input: { path, limit: 0 }
  },
  {
    operation: 'async_undo',
    name: 'of_a_task',
    summary: "bob takes ann's task back, after he has seen what that changes.",
    input: { of_change_set: 'names', dry_run: true, diff_format: 'unified', ...bob }
  }
]

const failures: readonly Step[] = [
  {
    operation: 'async_read',
    name: 'not_found',
    summary: 'There is no such file.',
    input: { path: 'docs/todo.md' },
    status: 404,
    code: 'FILE_NOT_FOUND'
  },
  {
    operation: 'async_read',
    name: 'misspelt_parameter',
    summary: 'Every fault of the input is listed, with the nearest known name.',
    input: { ofset: 2 },
    status: 400,
    code: 'INVALID_REQUEST'
  },
  {
    operation: 'async_read',
    name: 'outside',
    summary: 'The path leaves the project.',
    input: { path: '../secret.txt' },
    status: 403,
    code: 'PATH_OUTSIDE_BASE'
  },
  {
    operation: 'async_write',
    name: 'exists',
    summary: 'async_write creates; async_update changes what is there.',
    input: { path: 'docs/plan.md', content: '# Plan\n' },
    status: 409,
    code: 'FILE_EXISTS'
  },
  {
    operation: 'async_write',
    name: 'protected',
    summary: 'No operation writes below .git.',
    input: { path: '.git/config', content: '' },
    status: 403,
    code: 'ACCESS_DENIED'
  },
  {
    operation: 'async_write',
    name: 'too_large',
    summary: 'A file of one byte more than the server allows.',
    input: { path: 'large.txt', content: 'x'.repeat(maxFileBytes + 1) },
    status: 413,
    code: 'FILE_TOO_LARGE'
  },
  {
    operation: 'async_update',
    name: 'patch_does_not_apply',
    summary: 'The text to be replaced occurs twice.',
    input: {
      path: 'docs/plan.md',
      expected_hash: hashOf(finalPlan),
      patches: [{ old_string: 'the parser', new_string: 'the lexer' }]
    },
    status: 400,
    code: 'INVALID_PATCH'
  },
  {
    operation: 'async_rename',
    name: 'new_name_is_taken',
    summary: 'The new name is taken.',
    input: { old_path: 'tasks.txt', new_path: 'docs/plan.md' },
    status: 409,
    code: 'FILE_EXISTS'
  },
  {
    operation: 'async_list',
    name: 'directory_not_found',
    summary: 'There is no such directory.',
    input: { path: 'archive' },
    status: 404,
    code: 'DIR_NOT_FOUND'
  },
  {
    operation: 'read_file',
    name: 'not_found',
    summary: 'There is no such file.',
    input: { name: 'todo.md' },
    status: 404,
    code: 'FILE_NOT_FOUND'
  },
  {
    operation: 'read_file',
    name: 'beyond_the_end',
    summary: 'The file is shorter.',
    input: { name: 'tasks.txt', start_line: 100 },
    status: 400,
    code: 'INVALID_REQUEST'
  },
  {
    operation: 'edit_file',
    name: 'name_is_missing',
    summary: 'A required field is missing.',
    input: { append: 'cook' },
    status: 400,
    code: 'INVALID_REQUEST'
  }
]

const refusedAtTheDoor: readonly Step[] = [
  {
    operation: 'async_read',
    name: 'other_origin',
    summary: 'A web page of another origin calls.',
    input: { path },
    headers: { origin: 'https://elsewhere.example' },
    status: 403,
    code: 'FORBIDDEN_ORIGIN'
  },
  {
    operation: 'async_read',
    name: 'wrong_method',
    summary: 'Operations are POST.',
    method: 'GET',
    status: 405,
    code: 'METHOD_NOT_ALLOWED'
  },
  {
    operation: 'async_read',
    name: 'wrong_type',
    summary: 'Bodies are JSON.',
    input: { path },
    headers: { 'content-type': 'text/plain' },
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE'
  }
]

export const story: readonly Step[] = [
  ...contention,
  ...batches,
  ...looksBack,
  ...overview,
  ...folder,
  ...merges,
  ...leases,
  ...layers,
  ...landings,
  ...farewell,
  ...failures,
  ...refusedAtTheDoor
]

/** Told to a server that asks for a token. */
export const storyOfAStranger: readonly Step[] = [
  {
    operation: 'async_read',
    name: 'no_token',
    summary: 'The server was started with a token, and the call has none.',
    input: { path },
    status: 401,
    code: 'UNAUTHORIZED'
  }
]

/** What the project consists of before ann and bob come. */
export const firstFiles: Readonly<Record<string, string>> = {
  'tasks.txt': 'buy milk\nwash up\n',
  'menu.txt': menu
}
