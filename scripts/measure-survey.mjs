// Compares two ways to find what a command has changed of files that are not in use. Usage: node scripts/measure-survey.mjs <files>
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync, readdirSync, lstatSync, mkdtempSync, rmSync, appendFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
const n = Number(process.argv[2])
const root = mkdtempSync(join(tmpdir(), 'survey-'))
for (let at = 0; at < n; at += 1) {
  const dir = join(root, `d${at % Math.ceil(n / 100)}`)
  if (at < Math.ceil(n / 100)) mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, `f${at}.txt`), `file ${at}\n`)
}
const git = (...args) =>
  execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { maxBuffer: 1e9 })
git('init', '-q')
git('add', '-A')
git('commit', '-qm', 'x')
await new Promise((r) => setTimeout(r, 1500))
git('status', '--porcelain')
for (let at = 0; at < 20; at += 1) appendFileSync(join(root, `d0/f${at * Math.ceil(n / 100)}.txt`), 'x\n')
function walk() {
  let found = 0
  const folders = [root]
  for (const folder of folders)
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === '.git') continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (lstatSync(path).ctimeMs > Date.now()) found += 1
    }
  return found
}
const time = (what) => {
  const t = []
  for (let i = 0; i < 5; i += 1) {
    const a = performance.now()
    what()
    t.push(performance.now() - a)
  }
  return Math.round(t.sort((x, y) => x - y)[2] * 10) / 10
}
const cpu = (what) => {
  const a = process.cpuUsage()
  what()
  const b = process.cpuUsage(a)
  return Math.round((b.user + b.system) / 1000)
}
console.log(
  JSON.stringify({
    files: n,
    gitStatusMs: time(() => git('--no-optional-locks', 'status', '--porcelain=v2', '-z', '--untracked-files=all')),
    walkMs: time(walk),
    gitOnOwnThreadMs: cpu(() => git('--no-optional-locks', 'status', '--porcelain=v2', '-z', '--untracked-files=all')),
    walkOnOwnThreadMs: cpu(walk)
  })
)
rmSync(root, { recursive: true, force: true, maxRetries: 5 })
