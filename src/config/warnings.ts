// Warnings for the operator about valid settings.
import { statSync } from 'node:fs'
import type { ConfigFile } from './file.ts'
import type { Given } from './layer.ts'

export function findWarnings(values: ReadonlyMap<string, Given>, file: ConfigFile | undefined): string[] {
  const warnings: string[] = []
  if (file !== undefined && values.get('daemon.token')?.origin.source === 'file' && isReadableByOthers(file.path))
    warnings.push(`${file.path} holds a token and can be read by other users: chmod 600 ${file.path}`)
  return warnings
}

function isReadableByOthers(path: string): boolean {
  if (process.platform === 'win32') return false
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o044) !== 0
}
