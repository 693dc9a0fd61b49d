#!/usr/bin/env node
// The command line: loads only the called command. Commands that hooks and scripts run must start at once.
import { outliveReaders } from './program/cli/lost-streams.ts'
import { keepCompiled } from './program/cli/compile-cache.ts'
import { endWithNpm } from './program/cli/end-with-npm.ts'
import { installed } from './support/installation.ts'

async function run(): Promise<void> {
  const [, , command, ...args] = process.argv
  if (command === 'guard') {
    const { runGuard } = await import('./program/cli/guard.ts')
    await runGuard(args)
  } else if (command === 'hook') {
    const { runHook } = await import('./program/hook/run-hook.ts')
    await runHook(args)
  } else if (command === 'run') {
    const { runRun } = await import('./program/cli/run.ts')
    await runRun(args)
  } else if (command === 'discover') {
    const { createDiscoverCommand } = await import('./program/cli/discover.ts')
    await createDiscoverCommand().parseAsync(args, { from: 'user' })
  } else {
    const { program } = await import('./program/cli/program.ts')
    await program.parseAsync()
  }
}

outliveReaders()
endWithNpm('npx', 'start')
keepCompiled(installed('dist'))
void run()
