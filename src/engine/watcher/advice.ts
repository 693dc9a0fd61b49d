// The message when not all folders can be watched: what that means, and what to do.
import type { WatchShortage } from './watcher.ts'

export function explainShortage({ code, path, folders, watchedFolders, rescanMs }: WatchShortage): string {
  const how = rescanMs > 0 ? `within ${rescanMs / 1000} s, and` : 'only'
  return (
    `${watchedFolders} of ${folders} folders are watched (${code} at ${path}): changes by other programs in the others ` +
    `are noticed ${how} when their file is used. ${adviceFor(code)}`
  )
}

function adviceFor(code: string): string {
  switch (code) {
    case 'ENOSPC':
      return 'The watches of this user are used up: raise fs.inotify.max_user_watches (sysctl), as async-crud-mcp doctor says.'
    case 'EMFILE':
      return 'The inotify instances of this user, or the open files of this process, are used up: raise fs.inotify.max_user_instances (sysctl) or ulimit -n, as async-crud-mcp doctor says.'
    case 'EACCES':
    case 'EPERM':
      return 'Let this user read that folder.'
    default:
      return 'The log of the system may have the cause.'
  }
}
