#!/usr/bin/env node
// The command line: loads the command that is asked for and nothing of the others. The guard runs before every edit and must start at once.
if (process.argv[2] === 'guard') {
  const { runGuard } = await import('./cli/guard.ts')
  await runGuard(process.argv.slice(3))
} else {
  const { program } = await import('./cli/program.ts')
  await program.parseAsync()
}
