// Reads a Dockerfile into its stages: the instructions that ours uses, and no others.

export interface Stage {
  readonly name: string | undefined
  /** The image it begins with. */
  readonly from: string
  /** WORKDIR, COPY and RUN, in order. */
  readonly steps: readonly Instruction[]
  /** What the image says of how it is run. */
  readonly env: Readonly<Record<string, string>>
  readonly user: string | undefined
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
}

export interface Instruction {
  readonly keyword: string
  readonly text: string
}

interface Draft {
  name: string | undefined
  from: string
  steps: Instruction[]
  env: Record<string, string>
  user: string | undefined
  entrypoint: string[]
  command: string[]
  healthcheck: string[]
}

/** @throws Error that names the line, where it has an instruction that is not known here */
export function parseDockerfile(text: string): Stage[] {
  const stages: Draft[] = []
  for (const { keyword, text: rest } of instructionsOf(text)) {
    if (keyword === 'FROM') {
      const [from = '', , name] = rest.split(/\s+/)
      stages.push({ name, from, steps: [], env: {}, user: undefined, entrypoint: [], command: [], healthcheck: [] })
      continue
    }
    const stage = stages.at(-1)
    if (stage === undefined) throw new Error(`${keyword} stands before FROM`)
    add(stage, { keyword, text: rest })
  }
  return stages
}

function instructionsOf(text: string): Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line))
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => {
      const [, keyword = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      return { keyword, text: rest }
    })
}

function add(stage: Draft, instruction: Instruction): void {
  const { keyword, text } = instruction
  switch (keyword) {
    case 'WORKDIR':
    case 'COPY':
    case 'RUN':
      stage.steps.push(instruction)
      return
    case 'ENV': {
      const [, name, value] = /^(\w+)=([^\s"'$]*)$/.exec(text) ?? []
      if (name === undefined || value === undefined) throw new Error(`ENV is understood as NAME=value, not: ${text}`)
      stage.env[name] = value
      return
    }
    case 'USER':
      stage.user = text
      return
    case 'ENTRYPOINT':
      stage.entrypoint = parseList(text)
      return
    case 'CMD':
      stage.command = parseList(text)
      return
    case 'HEALTHCHECK':
      stage.healthcheck = parseList(text.replace(/^.*?\bCMD\s+/, ''))
      return
    case 'EXPOSE':
      return
    default:
      throw new Error(`this script does not know the instruction: ${keyword} ${text}`)
  }
}

function parseList(text: string): string[] {
  return JSON.parse(text) as string[]
}
