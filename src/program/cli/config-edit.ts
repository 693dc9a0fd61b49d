// `config edit`: the configuration file in the editor of this user, and what is wrong with it afterwards.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** @throws Error where the editor cannot be started or says that it has failed */
export async function openEditor(file: string): Promise<void> {
  const { env, platform } = process
  const editor = env['VISUAL'] || env['EDITOR'] || (platform === 'win32' ? 'notepad' : 'vi')
  // Through a shell, since the variable may hold arguments: "code --wait".
  const child =
    platform === 'win32'
      ? spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit' })
      : spawn('sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0)
    throw new Error(`the editor (${editor}) ended with ${code ?? signal}; set VISUAL or EDITOR to another one`)
}
