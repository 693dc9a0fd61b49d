#!/usr/bin/env node
// The command line: loads the command that is asked for and nothing of the others. Those that hooks and scripts run must start at once.
const { outliveReaders } = await import('./cli/unread-output.ts')
outliveReaders()
if (process.argv[2] === 'guard') {
  const { runGuard } = await import('./cli/guard.ts')
  await runGuard(process.argv.slice(3))
} else if (process.argv[2] === 'discover') {
  const { createDiscoverCommand } = await import('./cli/discover.ts')
  await createDiscoverCommand().parseAsync(process.argv.slice(3), { from: 'user' })
} else {
  const { program } = await import('./cli/program.ts')
  await program.parseAsync()
}
