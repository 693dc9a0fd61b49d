// npm run size: the files and bytes that an installation of the package brings, without Node.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand } from './npm.mjs'
import { prepare, projectRoot } from './prepare.mjs'

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  prepare()
  const { packages, ...all } = measureInstallation()
  for (const { name, files, bytes } of [...packages, { name: 'all', ...all }])
    console.log(`${String(files).padStart(6)} files ${String(bytes).padStart(11)} bytes  ${name}`)
}

/** @returns the sum, and each package that an installation brings */
export function measureInstallation() {
  const [{ name, entryCount, unpackedSize }] = JSON.parse(npm('pack', '--dry-run', '--json', '--ignore-scripts'))
  const [, ...folders] = npm('ls', '--omit=dev', '--all', '--parseable').trim().split(/\r?\n/)
  const others = folders.map((folder) => ({ name: nameOf(folder), ...measureFolder(folder) }))
  const packages = [{ name, files: entryCount, bytes: unpackedSize }, ...others]
  return { packages, ...sumOf(packages) }
}

function npm(...args) {
  const [program, ...first] = npmCommand()
  const stdio = ['ignore', 'pipe', 'inherit']
  return execFileSync(program, [...first, '--loglevel=error', ...args], { cwd: projectRoot, encoding: 'utf8', stdio })
}

function nameOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name
}

/** Without the packages in it, which npm lists by themselves. */
function measureFolder(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules')
  return sumOf(
    entries.map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? measureFolder(path) : { files: 1, bytes: statSync(path).size }
    })
  )
}

function sumOf(parts) {
  return parts.reduce((sum, { files, bytes }) => ({ files: sum.files + files, bytes: sum.bytes + bytes }), {
    files: 0,
    bytes: 0
  })
}
