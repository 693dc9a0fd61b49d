// The table of hooks: for each harness the events, the tools, and the file in which they stand (docs/native-tools.md).
import type { ClientName } from './client-names.ts'
import { codexFolder, pathOf, type UserEnvironment } from './clients.ts'

interface HookSet {
  /** Events, each with the tools before or after which the hook runs; undefined for all, or for an event without tools. */
  readonly events: Readonly<Record<string, string | undefined>>
  /** `groups`: a matcher and its hooks; `plain`: the hooks themselves. */
  readonly form: 'groups' | 'plain'
  readonly userFile: (user: UserEnvironment) => string
  readonly projectFile: readonly string[]
  /** As of the client: it does not read this file with a byte order mark. */
  readonly refusesMark?: boolean
  /** Of the harness, in its unit; the hook itself gives up sooner. */
  readonly timeout: number
}

const nativeEdits = 'Edit|Write|MultiEdit|NotebookEdit'
const ownTools = `${nativeEdits}|Bash`

export const hookSets: Readonly<Partial<Record<ClientName, HookSet>>> = {
  'claude-code': {
    events: {
      PreToolUse: ownTools,
      PostToolUse: `${ownTools}|Read|Grep|TaskOutput|BashOutput|TaskStop|KillShell`,
      PostToolUseFailure: ownTools,
      PermissionDenied: ownTools,
      UserPromptSubmit: undefined,
      SubagentStop: undefined,
      SessionEnd: undefined
    },
    form: 'groups',
    userFile: (user) =>
      pathOf(user).join(
        user.environment['CLAUDE_CONFIG_DIR'] || pathOf(user).join(user.home, '.claude'),
        'settings.json'
      ),
    projectFile: ['.claude', 'settings.json'],
    timeout: 70
  },
  codex: {
    events: {
      PreToolUse: 'apply_patch|Bash',
      PostToolUse: undefined,
      UserPromptSubmit: undefined,
      SubagentStop: undefined,
      SessionEnd: undefined
    },
    form: 'groups',
    userFile: (user) => pathOf(user).join(codexFolder(user), 'hooks.json'),
    projectFile: ['.codex', 'hooks.json'],
    refusesMark: true,
    timeout: 70
  },
  gemini: {
    events: {
      BeforeTool: 'write_file|replace|run_shell_command',
      AfterTool: 'write_file|replace|read_file|grep_search|search_file_content|run_shell_command',
      BeforeAgent: undefined,
      SessionEnd: undefined
    },
    form: 'groups',
    userFile: (user) => pathOf(user).join(user.home, '.gemini', 'settings.json'),
    projectFile: ['.gemini', 'settings.json'],
    timeout: 70_000
  },
  cursor: {
    events: {
      preToolUse: 'Write|Shell',
      postToolUse: undefined,
      postToolUseFailure: 'Write|Shell',
      afterFileEdit: undefined,
      beforeReadFile: undefined,
      sessionEnd: undefined
    },
    form: 'plain',
    userFile: (user) => pathOf(user).join(user.home, '.cursor', 'hooks.json'),
    projectFile: ['.cursor', 'hooks.json'],
    timeout: 70
  }
}
