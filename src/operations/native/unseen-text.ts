// Tells a model what others had changed in a file that it has just edited at another place.
import type { OperationContext } from '../../engine/context.ts'
import { differenceText, markKnown, type UnseenChange } from './judge-edit.ts'

export async function describeUnseen(
  context: OperationContext,
  unseen: readonly UnseenChange[]
): Promise<string | undefined> {
  const { caller, history } = context
  const texts: string[] = []
  for (const { path, given, from, to, authors } of unseen) {
    const diff = await differenceText(context, path, from, to)
    const made = history.last(path)?.hash
    // Otherwise a notice names the lines.
    if (diff === undefined || typeof made !== 'string' || caller.agentId === undefined) continue
    markKnown(context, caller.agentId, { path, given }, made, from)
    texts.push(`Your edit of ${given} was made beside changes of ${authors}, which you have not seen:\n${diff}`)
  }
  return texts.length === 0 ? undefined : texts.join('\n')
}
