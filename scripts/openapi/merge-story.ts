// The part of the session in which changes of one version meet, and are merged where they do not touch.
import { createHash } from 'node:crypto'
import type { Step } from './step.ts'

const path = 'menu.txt'
export const menu = 'Monday: soup\nTuesday: rice\nWednesday: fish\nThursday: pasta\nFriday: stew\n'
const hash = `sha256:${createHash('sha256').update(menu).digest('hex')}`

export const merges: readonly Step[] = [
  {
    operation: 'async_update',
    name: 'by_lines',
    summary: 'ann replaces the first line of the menu, and makes sure that it is the one she means.',
    input: {
      path,
      expected_hash: hash,
      patches: [{ start_line: 1, end_line: 1, new_content: 'Monday: salad', expected_lines: 'Monday: soup' }],
      agent_id: 'ann'
    }
  },
  {
    operation: 'async_update',
    name: 'merged',
    summary: 'bob, who knows the menu as it was, replaces the last line: both changes are made, and he learns of hers.',
    input: {
      path,
      expected_hash: hash,
      patches: [{ old_string: 'Friday: stew', new_string: 'Friday: pancakes' }],
      on_contention: 'merge',
      agent_id: 'bob'
    }
  },
  {
    operation: 'async_update',
    name: 'not_merged',
    summary:
      'carol wants the first line otherwise: nothing is written, and the conflict is shown as all three have it.',
    input: {
      path,
      expected_hash: hash,
      patches: [{ start_line: 1, end_line: 1, new_content: 'Monday: lentils' }],
      on_contention: 'merge',
      agent_id: 'carol'
    },
    status: 409
  },
  {
    operation: 'async_append',
    name: 'too_late',
    summary: 'carol adds a line only if the menu is still as she knows it, which it is not.',
    input: { path, content: 'Saturday: pizza\n', expected_hash: hash, agent_id: 'carol' },
    status: 409
  },
  {
    operation: 'edit_file',
    name: 'too_late',
    summary: 'carol names the version whose lines she means: it is no longer current.',
    input: {
      name: path,
      edits: [{ line: 5, operation: 'replace', content: 'Friday: beans' }],
      expected_hash: hash,
      agent_id: 'carol'
    },
    status: 409
  },
  {
    operation: 'edit_file',
    name: 'merged',
    summary: 'With on_contention "merge" a line that no one has changed since is deleted.',
    input: {
      name: path,
      edits: [{ line: 3, operation: 'delete' }],
      expected_hash: hash,
      on_contention: 'merge',
      agent_id: 'carol'
    }
  }
]
