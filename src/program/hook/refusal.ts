// How a hook refuses a tool by itself, without a server, in the form of each harness.

const forms: Readonly<Record<string, (reason: string) => object>> = {
  'claude-code': deny,
  codex: deny,
  gemini: (reason) => ({ decision: 'deny', reason }),
  cursor: (reason) => ({ permission: 'deny', user_message: reason, agent_message: reason }),
  opencode: (refusal) => ({ refusal })
}

export const harnessNames: readonly string[] = Object.keys(forms)

export function toRefusal(harness: string, reason: string): string {
  return JSON.stringify(forms[harness]?.(reason) ?? {})
}

function deny(permissionDecisionReason: string): object {
  const decision = { permissionDecision: 'deny', permissionDecisionReason }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}
