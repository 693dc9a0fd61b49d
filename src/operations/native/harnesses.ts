// The harnesses whose hooks this server understands.
import type { harnessNames } from '../../../schemas/native-hook.ts'
import { claudeCode, codex } from './claude-code.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import type { Harness } from './native-call.ts'
import { opencode } from './opencode.ts'
import { run } from './run.ts'

export const harnesses: Readonly<Record<(typeof harnessNames)[number], Harness>> = {
  'claude-code': claudeCode,
  codex,
  gemini,
  cursor,
  opencode,
  run
}
