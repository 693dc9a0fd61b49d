// Tells a model what others had changed in a file that it has just edited at another place.
import type { OperationContext } from '../../engine/call/context.ts'
import type { UnseenChange } from '../../engine/leases/native-turns.ts'
import { differenceText, recordUnified } from './judge-edit.ts'

export async function describeUnseen(
  context: OperationContext,
  unseen: readonly UnseenChange[]
): Promise<string | undefined> {
  const { agentId } = context.caller
  const texts: string[] = []
  for (const { path, given, from, to, authors } of unseen) {
    const diff = await differenceText(context, path, from, to)
    // Otherwise a notice names the lines.
    if (diff === undefined || agentId === undefined) continue
    recordUnified(context, agentId, { path, given, hash: to, from }, diff)
    texts.push(`Your edit of ${given} was made beside changes of ${authors}, which you have not seen:\n${diff}`)
  }
  return texts.length === 0 ? undefined : texts.join('\n')
}
