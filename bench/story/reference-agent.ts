// The story with the reference server, which knows no versions: an edit is made wherever its old text is found. So the agent's own rule decides what it notices.
import { changeOnDisk, type McpScene, type Play } from './play.ts'
import { adjusted, type Contended, type Edit } from './story.ts'

/**
 * - `at once`: edits; reads again only if the old text is not found. What others changed elsewhere in the file it never learns.
 * - `asks first`: before an edit asks for size and time of the file (get_file_info), and reads it again if they are not
 *   what they were after its last read or edit, when it asked, too.
 * - `reads first`: reads the file again before each edit.
 *
 * The edit that is right whatever the other does (the merge) is made at once by all of them.
 */
export const rules = ['at once', 'asks first', 'reads first'] as const
export type Rule = (typeof rules)[number]

export function referenceAgent(rule: Rule): (scene: McpScene) => Play {
  return ({ tree, ask }) => {
    const known = new Map<string, string>()

    /** The time is in whole seconds, so that only both together tell. */
    const info = async (path: string) =>
      (await ask('get_file_info', { path })).shown.match(/(?:size|modified): [^\n\\]+/g)?.join() ?? ''
    const read = (path: string) => ask('read_text_file', { path })
    const edit = ({ path, old, next }: Edit) => ask('edit_file', { path, edits: [{ oldText: old, newText: next }] })

    async function take(path: string): Promise<void> {
      if (rule === 'asks first') known.set(path, await info(path))
    }

    /** Whether the agent knows the file as it is now. */
    async function look(path: string): Promise<boolean> {
      if (rule === 'at once' || (rule === 'asks first' && known.get(path) === (await info(path)))) return false
      await read(path)
      return true
    }

    async function change(wanted: Edit | Contended): Promise<void> {
      const late = 'other' in wanted ? adjusted(wanted) : wanted
      const { isError } = await edit((await look(wanted.path)) ? late : wanted)
      if (isError) {
        await read(wanted.path)
        await edit(late)
      }
      await take(wanted.path)
    }

    return async (step) => {
      switch (step.does) {
        case 'list':
          return void (await ask('list_directory', { path: step.path }))
        case 'search':
          return void (await ask('search_files', { path: '.', pattern: step.pattern }))
        case 'read':
          await read(step.path)
          return take(step.path)
        case 'edit':
          return change(step.edit)
        case 'contention':
          changeOnDisk(tree, step.edit.other)
          return change(step.edit)
        case 'merge':
          changeOnDisk(tree, step.edit.other)
          await edit(step.edit)
          return take(step.edit.path)
        case 'lease':
          for (const [index, each] of step.edits.entries()) {
            await change(each)
            if (index === 0) changeOnDisk(tree, step.other)
          }
      }
    }
  }
}
