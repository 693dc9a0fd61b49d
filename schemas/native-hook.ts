// What the hooks of a harness send before and after its own tools, and what the harness is answered.
import { AgentId, StatusOk, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** `run` is async-crud-mcp run, for those who have no harness. */
export const harnessNames = ['claude-code', 'codex', 'gemini', 'cursor', 'opencode', 'run'] as const

export const NativeHookInput = inputObject({
  harness: Type.String({ enum: [...harnessNames], description: 'The harness that runs the hook.' }),
  event: Type.Object({}, { additionalProperties: true, description: 'What the harness gave its hook, unchanged.' }),
  agent_id: AgentId,
  wait_seconds: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 60,
      description: 'How long a native edit waits for its file. Default: locks.native_wait_seconds (5).'
    })
  )
})
export type NativeHookInput = Static<typeof NativeHookInput>

export const NativeHookOutput = Type.Object(
  {
    status: StatusOk,
    answer: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description: 'What the hook prints for its harness; null if it has nothing to say, and the tool goes on.'
    }),
    timestamp: Timestamp
  },
  { title: 'NativeHookOutput', description: 'What the harness is answered.' }
)
