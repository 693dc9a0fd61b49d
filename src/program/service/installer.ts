// Puts the file of a service where its manager looks, and removes it again.
import { basename, dirname } from 'node:path'
import { appName } from '../../support/user-paths.ts'
import { listFolder } from '../../support/list-folder.ts'
import { removeEmptyFolders } from '../setup/folders.ts'
import type { Journal } from '../setup/journal.ts'
import { readUserFile, removeUserFile, writeUserFile } from '../setup/user-file.ts'
import type { ServiceDefinition } from './definition.ts'
import type { ServiceManager } from './service-manager.ts'

/** Only the owner may change what is started in their name; macOS demands as much. */
const fileMode = 0o644

export function createServiceInstaller(manager: ServiceManager, journal: Journal) {
  return {
    /** Writes only the file. @returns whether it changed anything */
    write(definition: ServiceDefinition): boolean {
      const file = readUserFile(manager.fileOf(definition.name), 'latin1')
      const content = manager.render(definition)
      if (file.bytes?.equals(Buffer.from(content)) === true) return false
      journal.recordFolders(writeUserFile(file, content, fileMode))
      return true
    },
    /** Removes only the file. @returns whether there was one */
    remove(name: string): boolean {
      const file = readUserFile(manager.fileOf(name), 'latin1')
      if (file.bytes === undefined) return false
      removeUserFile(file)
      removeEmptyFolders(journal.read().folders.filter((made) => file.path.startsWith(made)))
      return true
    },
    isInstalled: (name: string): boolean => readUserFile(manager.fileOf(name), 'latin1').bytes !== undefined,
    /** The names of all our services, sorted. */
    names(): string[] {
      const file = manager.fileOf(appName)
      const suffix = basename(file).slice(appName.length)
      return listFolder(dirname(file))
        .filter((name) => name.endsWith(suffix))
        .map((name) => name.slice(0, -suffix.length))
        .filter((name) => name === appName || name.startsWith(`${appName}-`))
        .sort()
    }
  }
}
