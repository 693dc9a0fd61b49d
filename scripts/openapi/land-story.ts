// The part of the story in which the project becomes a Git repository, and ann's work is landed.
import { execFileSync } from 'node:child_process'
import type { AnswerTo, Step } from './step.ts'

function git(answerTo: AnswerTo, ...args: string[]): string {
  const { project } = answerTo('get_server_info', 'server_and_project') as { project: { root: string } }
  return execFileSync('git', ['-C', project.root, ...args], { encoding: 'utf8' }).trim()
}

const line = (content: string) => ({ path: 'landed.md', content, create_if_missing: true, agent_id: 'ann' })

export const landings: readonly Step[] = [
  {
    operation: 'async_append',
    name: 'in_a_repository',
    summary: 'ann adds a file to what is committed.',
    input(answerTo) {
      git(answerTo, 'init', '--quiet', '--initial-branch=main')
      git(answerTo, 'config', 'user.name', 'Ann')
      git(answerTo, 'config', 'user.email', 'ann@example.org')
      git(answerTo, 'add', '--all')
      git(answerTo, 'commit', '--quiet', '--message=first')
      return line('by ann\n')
    }
  },
  {
    operation: 'land',
    name: 'landed',
    summary: 'Her changes, and nobody else’s, become a commit.',
    input: { agent: 'ann', message: 'Add a file' }
  },
  {
    operation: 'land',
    name: 'nothing',
    summary: 'There is nothing more of hers.',
    input: { agent: 'ann', dry_run: true }
  },
  { operation: 'async_append', name: 'for_the_command_line', summary: 'ann goes on.', input: line('more\n') },
  {
    operation: 'land_prepare',
    name: 'prepared',
    summary: 'What async-crud-mcp land makes a commit of.',
    input: { agent: 'ann' }
  },
  {
    operation: 'land_finish',
    name: 'finished',
    summary: 'It has made the commit, and the branch follows.',
    input(answerTo) {
      const { parent } = answerTo('land_prepare', 'prepared') as { parent: string }
      git(answerTo, 'add', 'landed.md')
      const commit = git(answerTo, 'commit-tree', git(answerTo, 'write-tree'), '-p', parent, '-m', 'more')
      git(answerTo, 'reset', '--quiet')
      return { agent: 'ann', parent, commit }
    }
  }
]
