// What the flags and the environment of a hook say.
import { parseArgs } from 'node:util'
import { defaultPatienceSeconds, mostSeconds, type HookOptions } from './answer-event.ts'
import { toBase } from './find-server.ts'
import { harnessNames } from './refusal.ts'

const usage = `usage: async-crud-mcp hook <${harnessNames.join('|')}> [--agent <id>] [--url <address>] [--token <secret>] [--wait <seconds>] [--patience <seconds>] [--closed] [--stay]`

export function readFlags(args: readonly string[]): HookOptions & { readonly stays: boolean } {
  const usual = optionsOfEnvironment(process.env)
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = {
    agent: text,
    url: text,
    token: text,
    wait: text,
    patience: text,
    closed: flag,
    stay: flag,
    help: flag
  }
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [harness = '', ...others] = positionals
    const waitSeconds = values.wait === undefined ? undefined : Number(values.wait)
    const patienceSeconds = values.patience === undefined ? usual.patienceSeconds : Number(values.patience)
    const areTimes = [waitSeconds ?? 0, patienceSeconds].every((seconds) => seconds >= 0 && seconds <= mostSeconds)
    if (values.help === true || others.length > 0 || !harnessNames.includes(harness) || !areTimes)
      throw new Error(usage)
    return {
      harness,
      agent: values.agent ?? usual.agent,
      url: values.url === undefined ? undefined : toBase(values.url),
      token: values.token ?? usual.token,
      waitSeconds,
      patienceSeconds,
      isClosed: values.closed === true || usual.isClosed,
      stays: values.stay === true
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return {
      ...usual,
      harness: args.find((arg) => harnessNames.includes(arg)) ?? '',
      patienceSeconds: defaultPatienceSeconds,
      isClosed: args.includes('--closed') || usual.isClosed,
      problem: message === usage ? usage : `${message.replace(/\.$/, '')}. ${usage}`,
      stays: false
    }
  }
}

/** What variables say of every hook that a harness runs. */
export function optionsOfEnvironment(
  env: Readonly<Record<string, string | undefined>>
): Pick<HookOptions, 'agent' | 'token' | 'patienceSeconds' | 'isClosed'> {
  return {
    agent: env['ASYNC_CRUD_MCP_AGENT_ID'] || undefined,
    token: env['ASYNC_CRUD_MCP_DAEMON__TOKEN'] ?? '',
    patienceSeconds: Number(env['ASYNC_CRUD_MCP_HOOK_PATIENCE'] || defaultPatienceSeconds),
    isClosed: /^(?:1|true|yes|on)$/i.test(env['ASYNC_CRUD_MCP_HOOK_CLOSED'] ?? '')
  }
}
