// Carries out the steps of a Dockerfile in plain folders, one for each stage. What FROM names stays out: this machine stands in for it.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import type { Stage } from './dockerfile.ts'

interface Site {
  /** The build context: the project. */
  readonly context: string
  /** Stages are built below it. */
  readonly scratch: string
}

/** @returns the folder that is the root of the last stage */
export function build(stages: readonly Stage[], { context, scratch }: Site): string {
  const isInContext = readAllowList(join(context, '.dockerignore'))
  const rootOf = (index: number) => join(scratch, `stage-${index}`)
  for (const [index, { steps, env }] of stages.entries()) {
    const root = rootOf(index)
    let folder = '/'
    for (const { keyword, text } of steps) {
      console.log(`  ${keyword} ${text}`)
      if (keyword === 'WORKDIR') folder = posix.resolve(folder, text)
      mkdirSync(join(root, folder), { recursive: true })
      if (keyword === 'RUN') run(text, join(root, folder), env)
      if (keyword === 'COPY') {
        const { from, sources, target } = parseCopy(text)
        const stage = stages.findIndex(({ name }) => name === from)
        if (from !== undefined && stage === -1) throw new Error(`no stage is called ${from}`)
        for (const source of sources) {
          if (from === undefined && !isInContext(source)) throw new Error(`.dockerignore keeps ${source} out`)
          copy(
            join(from === undefined ? context : rootOf(stage), source),
            join(root, posix.resolve(folder, target)),
            target
          )
        }
      }
    }
  }
  return rootOf(stages.length - 1)
}

function parseCopy(text: string) {
  const words = text.split(/\s+/)
  const from = /^--from=(.+)$/.exec(words[0] ?? '')?.[1]
  const paths = from === undefined ? words : words.slice(1)
  if (paths.some((path) => path.startsWith('--') || /[*?[]/.test(path))) throw new Error(`not understood: COPY ${text}`)
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }
}

/** A folder gives what is in it, a file goes into a target that ends with a slash. */
function copy(source: string, path: string, target: string): void {
  const isFolder = statSync(source).isDirectory()
  cpSync(source, isFolder || !target.endsWith('/') ? path : join(path, basename(source)), {
    recursive: true,
    verbatimSymlinks: true
  })
}

function run(command: string, cwd: string, env: Readonly<Record<string, string>>): void {
  const { status } = spawnSync('/bin/sh', ['-c', command], { cwd, env: { ...process.env, ...env }, stdio: 'inherit' })
  if (status !== 0) throw new Error(`RUN ${command} ended with ${status}`)
}

/** Ours keeps everything out but what it names. */
function readAllowList(path: string): (source: string) => boolean {
  const patterns = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const [first, ...others] = patterns
  if (first !== '*' || others.some((line) => !line.startsWith('!')))
    throw new Error(`${path} is not a list of what gets in`)
  const allowed = others.map((line) => line.slice(1))
  return (source) => allowed.some((name) => source === name || source.startsWith(`${name}/`))
}
