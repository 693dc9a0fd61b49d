// Sessions of harnesses that change one Git tree by shell commands, native edits and operations at once; each line that they write says who.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { graceMs } from '../../../src/engine/commands/open-command.ts'
import { contentHash } from '../../../src/engine/files/content-hash.ts'
import { orUndefined } from '../../../src/support/attempt.ts'
import type { Answer } from '../../fixtures/clients.ts'
import type { Random } from '../../fixtures/random.ts'

export interface Write {
  /** Its mark, as `<agent>#<number>`: in each line that it writes. */
  readonly mark: string
  readonly agent: string
  readonly kind: string
  /** Relative to the root. */
  readonly path: string
  /** True if the mark is in the path, or the path is its agent's alone. */
  readonly isByPath: boolean
  /** Of a shell command; milliseconds. */
  readonly start: number
  readonly end: number
  /** The hash of what was at the path before it, null for nothing; undefined if another session may have changed that. */
  readonly before: string | null | undefined
  /** Its mark was in the file behind its end. */
  readonly stood: boolean
}

export interface Told {
  readonly agent: string
  readonly text: string
}

/** A version that was certainly at its path. */
export interface Made {
  readonly path: string
  readonly hash: string
}

export interface Campaign {
  readonly writes: readonly Write[]
  /** Of operations, as they answered. */
  readonly made: readonly Made[]
  readonly told: readonly Told[]
  /** Commands that were refused, each with the reason. */
  readonly refused: readonly string[]
}

interface Options {
  readonly root: string
  readonly url: string
  readonly sessions: number
  readonly count: number
  readonly random: Random
  /** Shared files, relative to the root. */
  readonly shared: readonly string[]
}

const run = promisify(execFile)
const formatter = `#!/usr/bin/env node
const fs=require('fs'),p=require('path');for(const f of fs.readdirSync(process.argv[3]))fs.appendFileSync(p.join(process.argv[3],f),process.argv[4]+'\\n')`

export async function runCampaign({ root, url, sessions, count, random, shared }: Options): Promise<Campaign> {
  const writes: Write[] = []
  const made: Made[] = []
  const told: Told[] = []
  const refused: string[] = []
  // A formatter by the name of one that the server knows, which is none: nothing is installed for a test.
  const programs = mkdtempSync(join(tmpdir(), 'programs-'))
  writeFileSync(join(programs, 'prettier'), formatter, { mode: 0o755 })
  writeFileSync(join(programs, 'generate'), formatter, { mode: 0o755 })
  // What a manager of versions puts in its place asks at each start which one it is.
  const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
  symlinkSync(python.trim(), join(programs, 'python3'))
  const env = { ...process.env, PATH: `${programs}${delimiter}${process.env['PATH']}` }
  let left = count
  const bytesAt = (path: string) => orUndefined(() => readFileSync(join(root, path)))

  async function post(path: string, body: object): Promise<Answer> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as Answer
  }

  async function session(id: number): Promise<void> {
    const name = `s${id}`
    const agent = `claude-code/${name}`
    let number = 0
    const own: string[] = []
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item

    async function hook(hook_event_name: string, fields: object): Promise<Answer> {
      const event = { session_id: name, cwd: root, hook_event_name, tool_use_id: `${name}-${number}`, ...fields }
      const answer = await post('hooks/claude-code', event)
      const text = answer['hookSpecificOutput']?.additionalContext as string | undefined
      if (text !== undefined) told.push({ agent, text })
      return answer
    }

    async function shell(kind: string, paths: readonly string[], command: string, isByPath: boolean): Promise<void> {
      const tool = { tool_name: 'Bash', tool_input: { command } }
      const isOnlyWriter = isByPath || id >= sessions
      const before = paths.map(bytesAt).map((bytes) => (bytes === undefined ? null : contentHash(bytes)))
      const begun = await hook('PreToolUse', tool)
      if (begun['hookSpecificOutput']?.permissionDecision === 'deny') {
        refused.push(`${kind} of ${mark()}: ${begun['hookSpecificOutput'].permissionDecisionReason}`)
        return
      }
      const start = performance.now()
      // Git refuses if another one has its index.
      const hasRun = await run('sh', ['-c', command], { cwd: root, env }).then(
        () => true,
        () => false
      )
      await hook(hasRun ? 'PostToolUse' : 'PostToolUseFailure', { ...tool, tool_response: {} })
      const end = performance.now()
      if (!hasRun) return
      for (const [at, path] of paths.entries()) {
        const stood = bytesAt(path)?.includes(`${mark()}\n`) === true
        const write = { mark: mark(), agent, kind, path, isByPath, start, end, stood }
        writes.push({ ...write, before: isOnlyWriter ? before[at] : undefined })
      }
    }

    async function native(path: string, mark: string): Promise<void> {
      const file_path = join(root, path)
      const content = readFileSync(file_path, 'utf8')
      const numLines = content.split('\n').length - 1
      const file = {
        filePath: file_path,
        content: content.replace(/\n$/, ''),
        numLines,
        startLine: 1,
        totalLines: numLines
      }
      await hook('PostToolUse', { tool_name: 'Read', tool_input: { file_path }, tool_response: { type: 'text', file } })
      const line = `line ${1 + Math.floor(random() * 5)} `
      const old_string = content.split('\n').find((one) => one.startsWith(line))
      if (old_string === undefined || content.split(old_string).length !== 2) return
      const tool = { tool_name: 'Edit', tool_input: { file_path, old_string, new_string: `${line}${mark}` } }
      const answer = await hook('PreToolUse', tool)
      if (answer['hookSpecificOutput']?.permissionDecision === 'deny') return
      const now = readFileSync(file_path, 'utf8')
      const isThere = now.split(old_string).length === 2
      if (isThere) writeFileSync(file_path, now.replace(old_string, `${line}${mark}`))
      await hook(isThere ? 'PostToolUse' : 'PostToolUseFailure', { ...tool, tool_response: {} })
    }

    const kinds: readonly (() => Promise<void>)[] = [
      () => {
        const path = pick(shared)
        const line = 1 + Math.floor(random() * 5)
        return shell('sed', [path], `sed -i 's|^line ${line} .*|line ${line} ${mark()}|' ${path}`, false)
      },
      () => {
        const path = pick(shared)
        return shell('append', [path], `echo '${mark()}' >> ${path}`, false)
      },
      () => {
        const path = `made/${name}-${number}.txt`
        own.push(path)
        return shell('heredoc', [path], `mkdir -p made && cat > ${path} <<'EOF'\n${mark()}\nEOF`, true)
      },
      async () => {
        const from = own.pop()
        if (from === undefined) return
        const to = `made/moved-${name}-${number}.txt`
        await shell('mv', [from, to], `mv ${from} ${to}`, true)
        own.push(to)
      },
      async () => {
        const path = own.shift()
        if (path !== undefined) await shell('rm', [path], `rm ${path}`, true)
      },
      () => {
        const path = pick(shared)
        return shell('python', [path], `python3 -c "open('${path}', 'a').write('${mark()}\\n')"`, false)
      },
      () => {
        const folder = `format/${name}`
        return shell(
          'formatter',
          [1, 2, 3].map((at) => `${folder}/f${at}.txt`),
          `${random() < 0.03 ? 'generate' : 'prettier'} --write ${folder} '${mark()}'`,
          true
        )
      },
      async () => {
        const path = `own/${name}.txt`
        await shell('change', [path], `echo '${mark()}' >> ${path}`, true)
        number += 1
        await shell('git checkout', [path], `git checkout -q -- ${path}`, true)
      },
      () => {
        const path = `patched/${name}.txt`
        const [first = ''] = readFileSync(join(root, path), 'utf8').split('\n')
        const patch = `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${first}\n+line 1 ${mark()}\n`
        return shell('patch', [path], `patch -s -p1 <<'EOF'\n${patch}EOF`, true)
      },
      () => native(pick(shared), mark()),
      async () => {
        const path = pick(shared)
        const { status, hash } = await post('async_append', { path, content: `${mark()}\n`, agent_id: agent })
        if (status === 'ok') made.push({ path, hash })
      }
    ]
    function mark(): string {
      return `${agent}#${number}`
    }

    while (left > 0) {
      left -= 1
      number += 1
      await pick(kinds)()
      // Some sessions rest, so that some commands are alone.
      if (random() < 0.1) await delay(20 * random())
    }
  }

  await Promise.all(Array.from({ length: sessions }, (_, id) => session(id)))
  // Alone: nothing else is open.
  for (let id = 0; id < sessions; id += 1) {
    await delay(graceMs + 100)
    left = Math.ceil(count / 40)
    await session(id + sessions)
  }
  rmSync(programs, { recursive: true })
  return { writes, made, told, refused }
}
