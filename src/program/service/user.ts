// The service manager of the user that this process runs for.
import { paths } from '../../support/user-paths.ts'
import { journalOfUser, thisUser } from '../setup/user.ts'
import { createServiceInstaller } from './installer.ts'
import { createServiceManager } from './choose-manager.ts'

export function servicesOfUser() {
  const manager = createServiceManager({
    ...thisUser(),
    dataFolder: paths.dataFolder,
    uid: process.getuid?.() ?? 0
  })
  return { manager, installer: createServiceInstaller(manager, journalOfUser()) }
}
