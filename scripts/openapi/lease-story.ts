// The part of the session in which ann and bob reserve files, and an operator ends a lease.
import type { AnswerTo, Step } from './step.ts'

const plan = 'plan.md'
const weeks = 'docs/weeks.md'
const tasks = 'tasks.txt'
const ann = { agent_id: 'ann' }
const bob = { agent_id: 'bob' }
const note = 'splitting the plan into weeks'

const taking: readonly Step[] = [
  {
    operation: 'lock_try',
    name: 'all_free',
    summary: 'ann reserves two files before she changes them; the second does not exist yet.',
    input: { filepaths: [plan, weeks], note, ...ann }
  },
  {
    operation: 'lock_try',
    name: 'one_is_taken',
    summary:
      'bob asks for two files. One is leased at once; the answer names the holder of the other, until when and why.',
    input: { filepaths: [plan, tasks], ...bob }
  },
  {
    operation: 'async_append',
    name: 'leased_by_another',
    summary: 'bob changes the file that ann has leased, and does not want to wait for the end of her lease.',
    input: { path: plan, content: '- rest\n', timeout: 0, ...bob },
    status: 408,
    code: 'LOCK_TIMEOUT'
  },
  {
    operation: 'async_write',
    name: 'under_a_lease',
    summary: 'ann writes the file whose name she has leased. Had the lease ended meanwhile, nothing would be written.',
    input: (answerTo) => ({ path: weeks, content: '# Weeks\n', fencing_token: tokenOfWeeks(answerTo), ...ann })
  }
]

const waiting: readonly Step[] = [
  {
    operation: 'lock_wait',
    name: 'cut_with_a_ticket',
    summary: 'bob waits for longer than the server lets one call wait: he gets a ticket, and his place is kept.',
    input: { filepaths: [plan], timeout_seconds: 600, ...bob }
  },
  {
    operation: 'lock_status',
    name: 'mine_and_hers',
    summary: 'bob asks who holds three files.',
    input: { filepaths: [plan, weeks, tasks], ...bob }
  },
  {
    operation: 'async_status',
    name: 'leased_file',
    summary: 'The queue of a leased file: ann holds it, the place of bob is kept.',
    input: { path: plan }
  },
  { operation: 'locks', name: 'all', summary: 'All files that are held or waited for.', method: 'GET' },
  {
    operation: 'locks',
    name: 'first_file',
    summary: 'Only the first file; the counts are those of all.',
    query: '?limit=1',
    method: 'GET'
  },
  {
    operation: 'locks',
    name: 'bad_limit',
    summary: 'The limit is not a number.',
    query: '?limit=all',
    method: 'GET',
    status: 400,
    code: 'INVALID_REQUEST'
  },
  {
    operation: 'lock_wait',
    name: 'circle',
    summary: 'ann asks for the file of bob, who waits for hers: neither could ever go on.',
    input: { filepaths: [tasks], ...ann },
    status: 409,
    code: 'DEADLOCK'
  },
  {
    operation: 'activity',
    name: 'lately',
    summary: 'Where agents met in the last five minutes.',
    query: '?minutes=5&limit=2',
    method: 'GET'
  },
  {
    operation: 'activity',
    name: 'bad_minutes',
    summary: 'Not so far back.',
    query: '?minutes=2000',
    method: 'GET',
    status: 400,
    code: 'INVALID_REQUEST'
  },
  {
    operation: 'lock_release',
    name: 'one_is_not_hers',
    summary: 'ann releases the file that bob waits for. bob holds the other, and keeps it.',
    input: { filepaths: [plan, tasks], ...ann }
  },
  {
    operation: 'lock_wait',
    name: 'go_on_with_the_ticket',
    summary: 'bob comes back with the ticket and gets the lease.',
    input: (answerTo) => ({ ticket: answerTo('lock_wait', 'cut_with_a_ticket')['ticket'], ...bob })
  }
]

const ending: readonly Step[] = [
  {
    operation: 'lock_renew',
    name: 'one_is_not_his',
    summary: 'bob works for long without a call on his files. He does not hold one of those he names.',
    input: { filepaths: [plan, weeks], ...bob }
  },
  {
    operation: 'lock_break',
    name: 'hanging_agent',
    summary: 'An operator ends the lease of ann, whose process hangs.',
    input: { filepaths: [weeks], reason: 'its process hangs', agent_id: 'olga' }
  },
  {
    operation: 'native_hook',
    name: 'before_an_edit',
    summary: 'A hook of Claude Code runs before an edit that nothing stands against.',
    input: {
      harness: 'claude-code',
      event: {
        session_id: '4f1c',
        cwd: '/project',
        hook_event_name: 'PreToolUse',
        tool_name: 'Edit',
        tool_input: { file_path: 'elsewhere.txt', old_string: 'one', new_string: 'two' }
      }
    }
  },
  {
    operation: 'lock_status',
    name: 'with_a_notice',
    summary: 'ann is back: her next answer shows what she has lost.',
    input: { filepaths: [weeks], ...ann }
  },
  {
    operation: 'async_append',
    name: 'lease_lost',
    summary: 'ann still relies on the lease, and nothing is written.',
    input: (answerTo) => ({ path: weeks, content: 'Week 1\n', fencing_token: tokenOfWeeks(answerTo), ...ann }),
    status: 409,
    code: 'LEASE_LOST'
  },
  {
    operation: 'lock_release_all',
    name: 'done',
    summary: 'bob is done, and holds and awaits nothing any more.',
    input: bob
  }
]

export const leases: readonly Step[] = [...taking, ...waiting, ...ending]

function tokenOfWeeks(answerTo: AnswerTo): number {
  const { results } = answerTo('lock_try', 'all_free') as { results: { filepath: string; fencing_token: number }[] }
  return results.find(({ filepath }) => filepath === weeks)?.fencing_token as number
}
