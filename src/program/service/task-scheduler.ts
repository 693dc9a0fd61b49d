// Services of the user on Windows: a task that starts at the user's login.
import { win32 } from 'node:path'
import type { ManagerEnvironment, ServiceManager } from './service-manager.ts'
import { runTool, ServiceManagerError } from './run-tool.ts'
import { toScheduledTask } from './scheduled-task.ts'

export function createTaskScheduler({ environment, dataFolder, platform }: ManagerEnvironment): ServiceManager {
  const separator = platform === 'win32' && dataFolder.includes('\\') ? win32.sep : '/'
  const fileOf = (name: string) => [dataFolder, 'services', `${name}.xml`].join(separator)
  const user = `${environment['USERDOMAIN'] ?? '.'}\\${environment['USERNAME'] ?? ''}`

  async function schtasks(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runTool('schtasks', args, environment)
    if (code === 0) return stdout
    throw new ServiceManagerError(`schtasks ${args.join(' ')} failed (${code}): ${(stderr || stdout).trim()}`)
  }

  return {
    title: 'the Task Scheduler',
    fileOf,
    // schtasks takes only UTF-16 with a byte order mark for names beyond ASCII.
    render: (definition) => Buffer.from(`\uFEFF${toScheduledTask(definition, user)}`, 'utf16le'),
    register: async (name) => void (await schtasks('/Create', '/TN', name, '/XML', fileOf(name), '/F')),
    async unregister(name) {
      // A task that does not run cannot be ended.
      await runTool('schtasks', ['/End', '/TN', name], environment)
      await schtasks('/Delete', '/TN', name, '/F')
    },
    start: async (name) => void (await schtasks('/Run', '/TN', name)),
    stop: async (name) => void (await schtasks('/End', '/TN', name)),
    async status(name) {
      // By position, since column names are in the language of the system. So is the state itself.
      const row = (await schtasks('/Query', '/TN', name, '/FO', 'CSV', '/NH')).trim().split('\n').at(-1) ?? ''
      const state = row.split('","').at(-1)?.replaceAll(/["\r]/g, '') ?? 'unknown'
      return { isRunning: state === 'Running', state, pid: null }
    },
    byHand: (name) => `schtasks /Create /TN ${name} /XML "${fileOf(name)}" /F`
  }
}
