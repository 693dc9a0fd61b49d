// Runs the tool of a service manager to its end.
import { execFile } from 'node:child_process'
import { isErrno } from '../../support/errno.ts'

export interface ToolResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The message also says what to run by hand. */
export class ServiceManagerError extends Error {}

/** A service manager that does not answer must not block this command. */
const timeoutMs = 30_000

/** @throws ServiceManagerError if the tool cannot be started or does not end */
export async function runTool(
  tool: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    execFile(tool, args, { env: environment, timeout: timeoutMs, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr })
      if (isErrno(error, 'ENOENT', 'EACCES')) return reject(new ServiceManagerError(`${tool} is not installed here`))
      if (typeof error.code === 'number') return resolve({ code: error.code, stdout, stderr })
      return reject(new ServiceManagerError(`${tool} did not answer within ${timeoutMs / 1000} s`))
    })
  })
}
