// Services of the user on Linux: systemctl --user.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ManagerEnvironment, ServiceManager } from './service-manager.ts'
import { runTool, ServiceManagerError } from './run-tool.ts'
import { toSystemdUnit } from './systemd-unit.ts'

export function createSystemd({ home, environment }: ManagerEnvironment): ServiceManager {
  const folder = join(environment['XDG_CONFIG_HOME'] || join(home, '.config'), 'systemd', 'user')
  const byHand = (name: string) => `systemctl --user daemon-reload && systemctl --user enable --now ${name}`

  async function systemctl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runTool('systemctl', ['--user', ...args], environment)
    if (code === 0) return stdout
    const [reason = ''] = (stderr.trim() || stdout.trim()).split('\n')
    throw new ServiceManagerError(`systemctl --user ${args.join(' ')} failed (${code}): ${reason}`)
  }

  return {
    title: 'systemd',
    fileOf: (name) => join(folder, `${name}.service`),
    render: toSystemdUnit,
    async register(name) {
      await systemctl('daemon-reload')
      await systemctl('enable', `${name}.service`)
    },
    async unregister(name) {
      // Also by hand, if no manager runs: a link to a unit that is gone would stay.
      rmSync(join(folder, 'default.target.wants', `${name}.service`), { force: true })
      await systemctl('disable', '--now', `${name}.service`)
    },
    start: async (name) => void (await systemctl('start', `${name}.service`)),
    stop: async (name) => void (await systemctl('stop', `${name}.service`)),
    async status(name) {
      const shown = await systemctl('show', `${name}.service`, '--property=ActiveState,SubState,MainPID')
      const values = new Map(shown.split('\n').map((line) => line.split('=', 2) as [string, string]))
      const active = values.get('ActiveState') ?? 'unknown'
      const pid = Number(values.get('MainPID') ?? 0)
      return {
        isRunning: active === 'active' || active === 'activating' || active === 'reloading',
        state: `${active} (${values.get('SubState') ?? 'unknown'})`,
        pid: pid > 0 ? pid : null
      }
    },
    byHand
  }
}
