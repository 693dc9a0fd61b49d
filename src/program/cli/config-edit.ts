// `config edit`: opens the configuration file in the user's editor, then reports what is wrong with it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** @throws Error if the editor cannot be started or reports a failure */
export async function openEditor(file: string): Promise<void> {
  const { env, platform } = process
  const editor = env['VISUAL'] || env['EDITOR'] || (platform === 'win32' ? 'notepad' : 'vi')
  // Through a shell, since the variable may contain arguments: "code --wait".
  const child =
    platform === 'win32'
      ? spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit' })
      : spawn('sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0)
    throw new Error(`the editor (${editor}) ended with ${code ?? signal}; set VISUAL or EDITOR to another one`)
}
