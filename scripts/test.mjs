// Prepares the project and runs all tests, or the ones named: npm test -- dist/test/locks/lock-manager.test.js
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, projectRoot } from './prepare.mjs'

prepare()
const tap = join(projectRoot, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
const runTap = (...args) =>
  spawnSync(process.execPath, [tap, ...args], { cwd: projectRoot, stdio: 'inherit' }).status ?? 1

// tap generates its test class from the plugins named in .taprc, once per installation.
if (!existsSync(join(projectRoot, '.tap', 'plugins')) && runTap('build') !== 0) process.exit(1)
process.exit(runTap('run', ...process.argv.slice(2)))
