// Whether the user's own service manager can confine anything on this system: systemd needs user namespaces for that.
import { join } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { readText } from '../../support/read-text.ts'

/** Each switches them off for ordinary users if it has this value (Debian, all, Ubuntu). */
const switches: readonly (readonly [name: string, off: string])[] = [
  ['kernel/unprivileged_userns_clone', '0'],
  ['user/max_user_namespaces', '0'],
  ['kernel/apparmor_restrict_unprivileged_userns', '1']
]

/** The switch that is off, such as `/proc/sys/user/max_user_namespaces = 0`; undefined if none is. */
export function userNamespaceObstacle(folder = '/proc/sys'): string | undefined {
  for (const [name, off] of switches) {
    try {
      const path = join(folder, name)
      if (readText(path).trim() === off) return `${path} = ${off}`
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'EACCES', 'EPERM')) throw error
    }
  }
  return undefined
}
