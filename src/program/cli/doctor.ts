// async-crud-mcp doctor: checks everything that the server needs, changes nothing, and says what to do.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Check, Finding, Verdict } from '../doctor/check.ts'
import { collect, createCommand, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import { paint, print, printJson } from './output.ts'
import { showProgress } from './progress.ts'

interface DoctorFlags {
  readonly dir?: string[]
  readonly config?: string
  readonly json?: boolean
}

const checkLimitMs = 5000
const styles: Readonly<Record<Verdict, 'green' | 'yellow' | 'red'>> = { ok: 'green', warn: 'yellow', fail: 'red' }

export function createDoctorCommand(): Command {
  return createCommand('doctor')
    .description('checks everything that the server needs, and says what to do: exit code 1 if a check fails')
    .hook('preAction', refuseEarlyFlags)
    .option('--dir <folder>', 'a root (repeatable; default: those of the configuration)', collect)
    .option('--config <file>', 'the configuration file')
    .option('--json', 'for scripts')
    .addHelpText('after', '\nExample: async-crud-mcp doctor --dir ~/app')
    .action(orFail(run))
}

async function run(flags: DoctorFlags): Promise<void> {
  const { runCheck } = await import('../doctor/check.ts')
  const checks = await createChecks(flags)
  const waiting = new Set(checks.map(({ name }) => name))
  const describe = () =>
    `${checks.length - waiting.size} of ${checks.length} checks done, left: ${[...waiting].join(', ')}`
  const progress = showProgress(describe())
  const checking = checks.map(async (check) => {
    const findings = await runCheck(check, checkLimitMs)
    waiting.delete(check.name)
    progress.change(describe())
    return findings
  })
  const found = (await Promise.all(checking).finally(() => progress.end())).flat()
  const isWell = found.every(({ verdict }) => verdict !== 'fail')
  if (flags.json) printJson({ ok: isWell, findings: found })
  else found.forEach(show)
  // Exits although a check may hang: what it waits for may never come.
  process.stdout.write('', () => process.exit(isWell ? 0 : 1))
}

async function createChecks({ dir, config }: DoctorFlags): Promise<Check[]> {
  const { checkClients, checkServices } = await import('../doctor/installation.ts')
  const { checkProjects } = await import('../doctor/projects.ts')
  const { checkHosts } = await import('../doctor/hosts.ts')
  const { checkRoots, checkState } = await import('../doctor/roots.ts')
  const { checkFolder, checkNode, checkOpenFiles, checkPort } = await import('../doctor/system.ts')
  const { checkWatches } = await import('../doctor/watches.ts')
  const { findConfig } = await import('../doctor/configuration.ts')
  const { checkKeptState } = await import('../doctor/kept-state.ts')
  const { paths } = await import('../../support/user-paths.ts')
  const { findings, settings } = findConfig(config)
  const roots = (dir ?? settings.crud.base_directories).map((root) => resolve(root))
  const { host, port, token } = settings.daemon
  const maxFiles = settings.crud.max_history_files
  return [
    { name: 'node', run: checkNode },
    { name: 'configuration', run: () => findings },
    { name: 'roots', run: () => checkRoots(roots, settings.tree.coordinator === 'etcd') },
    { name: 'hosts', run: () => checkHosts(roots, settings.tree) },
    { name: 'state', run: () => checkState(roots, token) },
    { name: 'kept state', run: () => checkKeptState(roots, settings.persistence.state_file, paths.dataFolder) },
    { name: 'port', run: () => checkPort(host, port, token) },
    { name: 'watches', run: () => (settings.watcher.enabled ? checkWatches({ roots, maxFiles }) : []) },
    { name: 'open files', run: () => checkOpenFiles() },
    { name: 'log folder', run: () => checkFolder('log folder', paths.logFolder) },
    { name: 'data folder', run: () => checkFolder('data folder', paths.dataFolder) },
    { name: 'service', run: checkServices },
    { name: 'clients', run: checkClients },
    { name: 'projects', run: () => checkProjects(roots) }
  ]
}

function show({ check, verdict, message, advice }: Finding): void {
  const head = `${paint(styles[verdict], verdict.padEnd(4))}  ${check.padEnd(13)}`
  print(`${head}  ${message}${advice === undefined ? '' : `\n${' '.repeat(21)}${paint('bold', advice)}`}`)
}
