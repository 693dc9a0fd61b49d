// The names of the clients that can be set up: for the command line, which loads nothing else of them at its start.

export const clientNames = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'codex',
  'gemini',
  'windsurf',
  'zed',
  'opencode'
] as const
export type ClientName = (typeof clientNames)[number]
