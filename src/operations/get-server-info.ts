// get_server_info (DUAL 3.2).
import { join } from 'node:path'
import { contract } from '../../schemas/contract.ts'
import type { ServerInfoOutput } from '../../schemas/server-info.ts'
import { toClientHost, urlOf } from '../tree/state/server-state.ts'
import { ownFolder } from '../engine/files/temporary-names.ts'
import { readGit } from '../support/project/git.ts'
import { projectName } from '../support/project/name.ts'
import { startedAt, uptimeSeconds } from '../support/uptime.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'

export const getServerInfo = defineOperation({
  name: 'get_server_info',
  title: 'Show server and project',
  description:
    'Shows which process answers, since when and where, which project it serves (name, root, Git branch, commit and whether there are changes), and what it can do. Use it to check that you are connected to the right project.',
  ...contract.get_server_info,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [],
  isLocal: true,
  handle: (_input, context) => describe(context)
})

async function describe({ config, files, server, tree }: OperationContext): Promise<ServerInfoOutput> {
  const [root] = files.roots
  return {
    status: 'ok',
    server: {
      version: server.version,
      transport: config.daemon.transport,
      uptime_seconds: uptimeSeconds(),
      pid: process.pid,
      started_at: startedAt,
      url: urlOf(toClientHost(config.daemon.host), server.port ?? null),
      role: tree.role(),
      authority_pid: tree.authorityPid()
    },
    project: root === undefined ? null : await describeProject(root.real),
    capabilities: {
      tools_available: server.toolCount,
      leases: true,
      persistence: config.persistence.enabled || server.persistence === 'enabled',
      file_watchers: config.watcher.enabled,
      merging: true
    },
    timestamp: timestamp()
  }
}

async function describeProject(root: string): Promise<ServerInfoOutput['project']> {
  return { name: projectName(root), root, state_path: join(root, ownFolder), git: await readGit(root) }
}
