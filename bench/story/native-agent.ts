// The story with the tools that Claude Code has itself: an edit that it refuses as stale is followed by a read, as the refusal asks, and made then.
import type { Tree } from '../../test/fixtures/tree.ts'
import { createNativeTools, type NativeCall } from './native-tools.ts'
import { begin, changeOnDisk, type Given, type Play, type Played } from './play.ts'
import { adjusted, type Contended, type Edit } from './story.ts'

/** By the forms of its answers. */
export async function playWithNativeTools({ owner, fieldCount }: Given): Promise<Played> {
  const { tree, tell, play } = begin(owner, fieldCount)
  const use = createNativeTools(tree)
  return play(
    nativeAgent(tree, async (call) => {
      const answer = use(call)
      tell(writtenForm(call), answer)
      return answer
    })
  )
}

export function writtenForm({ tool, input }: NativeCall): string {
  return `${tool} ${JSON.stringify(input)}`
}

/** @param use resolves with the answer */
export function nativeAgent(tree: Tree, use: (call: NativeCall) => Promise<string>): Play {
  const read = (path: string) => use({ tool: 'Read', input: { file_path: tree.path(path) } })
  const edit = ({ path, old, next }: Edit) =>
    use({ tool: 'Edit', input: { file_path: tree.path(path), old_string: old, new_string: next } })

  async function change(wanted: Edit | Contended): Promise<void> {
    if (!(await edit(wanted)).startsWith('<tool_use_error>')) return
    await read(wanted.path)
    await edit('other' in wanted ? adjusted(wanted) : wanted)
  }

  return async (step) => {
    switch (step.does) {
      case 'list':
        return void (await use({
          tool: 'Bash',
          input: { command: `ls ${step.path}`, description: 'List the sources' }
        }))
      case 'search':
        return void (await use({ tool: 'Glob', input: { pattern: step.pattern } }))
      case 'read':
        return void (await read(step.path))
      case 'edit':
        return change(step.edit)
      case 'contention':
      case 'merge':
        changeOnDisk(tree, step.edit.other)
        return change(step.edit)
      case 'lease':
        for (const [index, each] of step.edits.entries()) {
          await change(each)
          if (index === 0) changeOnDisk(tree, step.other)
        }
    }
  }
}
