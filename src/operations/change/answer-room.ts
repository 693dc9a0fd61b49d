// The room that one answer has for diffs: an answer that is full of them leaves the others out.
import type { AnswerRoom, OperationContext } from '../../engine/call/context.ts'
import { diffRoom } from '../answer-size.ts'

export function createRoom({ config, caller }: OperationContext): AnswerRoom {
  const most = Math.min(config.crud.max_batch_answer_bytes, diffRoom(caller.maxAnswerChars) ?? Infinity)
  let bytes = 0
  return (diff) => {
    if (diff === null) return true
    bytes += JSON.stringify(diff).length
    return bytes <= most
  }
}
