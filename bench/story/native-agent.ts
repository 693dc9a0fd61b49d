// The story with the tools that Claude Code has itself: an edit that it refuses as stale is followed by a read, as the refusal asks, and made then.
import { createNativeTools } from './native-tools.ts'
import { begin, changeOnDisk, type Given, type Play, type Played } from './play.ts'
import { adjusted, type Contended, type Edit } from './story.ts'

export async function playWithNativeTools({ owner, fieldCount }: Given): Promise<Played> {
  const { tree, tell, play } = begin(owner, fieldCount)
  const { use, read, edit } = createNativeTools(tree, tell)

  function change(wanted: Edit | Contended): void {
    if (edit(wanted)) return
    read(wanted.path)
    edit('other' in wanted ? adjusted(wanted) : wanted)
  }

  const agent: Play = async (step) => {
    switch (step.does) {
      case 'list': {
        const names = tree
          .all()
          .flatMap((path) => (path.startsWith(`${step.path}/`) ? [path.slice(step.path.length + 1)] : []))
        return use('Bash', { command: `ls ${step.path}`, description: 'List the sources' }, names.join('\n'))
      }
      case 'search': {
        const found = tree.all().filter((path) => path.includes(step.pattern.replaceAll(/[*/]/g, '')))
        return use('Glob', { pattern: step.pattern }, found.join('\n'))
      }
      case 'read':
        return read(step.path)
      case 'edit':
        return change(step.edit)
      case 'contention':
      case 'merge':
        changeOnDisk(tree, step.edit.other)
        return change(step.edit)
      case 'lease':
        for (const [index, each] of step.edits.entries()) {
          change(each)
          if (index === 0) changeOnDisk(tree, step.other)
        }
    }
  }
  return play(agent)
}
