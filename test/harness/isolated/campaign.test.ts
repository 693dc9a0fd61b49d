// Isolated commands of several agents at once, against a model of three-way merges: each goes over whole or not at all, as `git merge-file` has it.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cannotIsolate, isolatedTree } from '../../fixtures/isolated.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import { hashOf } from '../../fixtures/tree.ts'

const agents = 6
const runs = lengthOf({ long: 1000, full: 150, short: 12 })
const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt']
const lineCount = 80
const first = Array.from({ length: lineCount }, (_, at) => `line ${at + 1}\n`).join('')

interface Version {
  readonly hash: string
  readonly change_set?: string
  readonly sequence?: number
}

t.test(`${runs} isolated commands of ${agents} agents at once`, { skip: cannotIsolate }, async (t) => {
  const seed = givenSeed ?? Date.now() % 1_000_000
  t.comment(`TEST_SEED=${seed}`)
  const random = createRandom(seed)
  const environment = { ASYNC_CRUD_MCP_CRUD__MAX_FILE_VERSIONS: '10000' }
  const { run, call, tree } = await isolatedTree(t, Object.fromEntries(names.map((name) => [name, first])), {
    environment
  })
  const notes = mkdtempSync(join(tmpdir(), 'async-crud-mcp-campaign-'))
  chmodSync(notes, 0o777)
  t.teardown(() => rmSync(notes, { recursive: true, force: true }))
  const texts = (id: string, name: string) =>
    ['seen', 'written'].map((kind) => readFileSync(join(notes, `${id}-${name}-${kind}`), 'utf8'))

  /** Reads, thinks, writes: in place, or as most editors do. */
  function script(id: string, chosen: readonly string[]): string {
    const one = (name: string) => {
      const [seen, written] = ['seen', 'written'].map((kind) => `'${notes}/${id}-${name}-${kind}'`)
      const line = 1 + Math.floor(random() * lineCount)
      const edit =
        random() < 0.7
          ? `${line}s/.*/line ${line} of ${id}/`
          : random() < 0.5
            ? `${line}a more of ${id}`
            : `${line},+1c one of ${id} for two`
      const pause = random() < 0.2 ? `sleep 0.${Math.floor(random() * 5)}; ` : ''
      const write = random() < 0.5 ? `cat ${written} > ${name}` : `cp ${written} ${name}.new; mv ${name}.new ${name}`
      return `cat ${name} > ${seen}; sed '${edit}' ${seen} > ${written}; ${pause}${write}`
    }
    return chosen.map(one).join('\n')
  }

  /** The newest first. */
  async function versionsOf(path: string): Promise<Version[]> {
    const all: Version[] = []
    let cursor: unknown
    do {
      const page = await call('async_history', { path, limit: 100, ...(cursor !== undefined && { cursor }) })
      all.push(...(page['versions'] as Version[]))
      cursor = page['next_cursor']
    } while (cursor !== undefined && cursor !== null)
    return all
  }

  const outcomes = new Map<string, { code: number | null; chosen: readonly string[] }>()
  let next = 0
  async function work(agent: string): Promise<void> {
    while (next < runs) {
      const id = `run-${(next += 1)}`
      const chosen = names.filter(() => random() < 0.4)
      if (chosen.length === 0) continue
      const { code, stderr } = await run([
        '--isolated',
        '--agent',
        agent,
        '--change-set',
        id,
        '--',
        'sh',
        '-ec',
        script(id, chosen)
      ])
      if (code !== 0 && code !== 75) t.fail(`${id} ended with ${code}: ${stderr}`)
      outcomes.set(id, { code, chosen })
    }
  }
  await Promise.all(Array.from({ length: agents }, (_, at) => work(`agent-${at}`)))

  const made = new Map<string, Set<string>>()
  let merged = 0
  for (const name of names) {
    let model = first
    for (const { change_set: id = '', hash } of (await versionsOf(tree.path(name)))
      .toReversed()
      .filter((one) => one.change_set !== undefined)) {
      made.set(id, (made.get(id) ?? new Set()).add(name))
      const [seen = '', written = ''] = texts(id, name)
      const expected = mergeByGit(notes, { current: model, base: seen, incoming: written })
      if (seen !== model) merged += 1
      if (expected === undefined || hashOf(expected) !== hash)
        t.fail(`${name} after ${id} is not what git merge-file makes of it`)
      model = expected ?? model
    }
    t.equal(tree.read(name), model, `${name} is what the model says`)
  }
  const codes = { over: 0, refused: 0 }
  for (const [id, { code, chosen }] of outcomes) {
    const changed = [...(made.get(id) ?? [])].sort()
    codes[code === 0 ? 'over' : 'refused'] += 1
    // A line may be beyond the end of a file that others have shortened.
    const wanted = code === 0 ? chosen.filter((name) => new Set(texts(id, name)).size > 1) : []
    if (changed.join() !== wanted.join()) t.fail(`${id} (${code}) changed ${changed.join()}, not ${wanted.join()}`)
  }
  t.comment(`${codes.over} went over, with ${merged} merges of a file; ${codes.refused} were refused`)
  t.ok(codes.over > runs / 10, 'some went over')
  t.ok(merged > 0, 'some were merged')
})

function mergeByGit(folder: string, texts: { current: string; base: string; incoming: string }): string | undefined {
  const paths = Object.entries(texts).map(([kind, text]) => {
    writeFileSync(join(folder, kind), text)
    return join(folder, kind)
  })
  try {
    return execFileSync('git', ['merge-file', '--stdout', ...paths], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    })
  } catch {
    return undefined
  }
}
