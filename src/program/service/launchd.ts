// Services of the user on macOS: launchctl in the domain of the user's login.
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { toLaunchAgent } from './launch-agent.ts'
import type { ManagerEnvironment, ServiceManager } from './service-manager.ts'
import { runTool, ServiceManagerError, type ToolResult } from './run-tool.ts'

/** Of `bootout`, if the process has not ended yet (EINPROGRESS). */
const inProgress = 36
/** More than the ExitTimeOut of the agent. */
const endSeconds = 15

export function createLaunchd({ home, environment, uid }: ManagerEnvironment): ServiceManager {
  const domain = `gui/${uid}`
  const fileOf = (name: string) => join(home, 'Library', 'LaunchAgents', `${name}.plist`)
  const launchctl = (...args: string[]) => runTool('launchctl', args, environment)
  const isLoaded = async (name: string) => (await launchctl('print', `${domain}/${name}`)).code === 0

  async function demand(...args: string[]): Promise<ToolResult> {
    const result = await launchctl(...args)
    if (result.code === 0) return result
    throw failure(args, result.code, result.stderr)
  }

  async function stop(name: string): Promise<void> {
    if (!(await isLoaded(name))) return
    const { code, stderr } = await launchctl('bootout', `${domain}/${name}`)
    if (code === 0) return
    if (code !== inProgress) throw failure(['bootout', `${domain}/${name}`], code, stderr)
    for (let left = endSeconds; left > 0 && (await isLoaded(name)); left -= 1) await delay(1000)
  }

  return {
    title: 'launchd',
    fileOf,
    render: toLaunchAgent,
    // The next login loads every file in the folder.
    register: async () => {},
    unregister: stop,
    async start(name) {
      if (await isLoaded(name)) await demand('kickstart', `${domain}/${name}`)
      else await demand('bootstrap', domain, fileOf(name))
    },
    // Unloaded until the next login: launchd may restart an agent that is merely killed.
    stop,
    async status(name) {
      const { code, stdout } = await launchctl('print', `${domain}/${name}`)
      if (code !== 0) return { isRunning: false, state: 'not loaded', pid: null }
      const state = /^\s*state = (.*)$/m.exec(stdout)?.[1] ?? 'unknown'
      const pid = /^\s*pid = (\d+)$/m.exec(stdout)?.[1]
      return { isRunning: state === 'running', state, pid: pid === undefined ? null : Number(pid) }
    },
    byHand: (name) => `launchctl bootstrap ${domain} ${fileOf(name)}`
  }
}

function failure(args: readonly string[], code: number, stderr: string): ServiceManagerError {
  return new ServiceManagerError(`launchctl ${args.join(' ')} failed (${code}): ${stderr.trim()}`)
}
