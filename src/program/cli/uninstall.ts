// async-crud-mcp uninstall: undoes everything that setup, bootstrap, daemon and quick-install have done for this user.
import { existsSync, lstatSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { createCommand, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import { paint, print } from './output.ts'
import { messageOf } from '../../support/error-message.ts'

interface UninstallFlags {
  readonly purge?: boolean
}

export function createUninstallCommand(): Command {
  return createCommand('uninstall')
    .description('removes the services, the background servers, the entries in clients and the data of this user')
    .hook('preAction', refuseEarlyFlags)
    .option('--purge', "also the configuration, the logs and the server's own folder in each root")
    .addHelpText('after', '\nExample: async-crud-mcp uninstall --purge')
    .action(orFail(run))
}

async function run({ purge }: UninstallFlags): Promise<void> {
  const { journalOfUser } = await import('../setup/user.ts')
  // Read first: the data folder is removed with the rest, and this is in it.
  const { roots, folders } = journalOfUser().read()
  await removeServices()
  const failures = [...(await stopServers()), ...(await removeEntries())]
  if (failures.length > 0)
    throw new Error(`${failures.join('; ')}. The records of what is left were kept: correct that, and run this again`)
  await removeFolders(purge === true ? roots : [], purge === true, folders)
  print(paint('green', 'done'))
}

async function removeServices(): Promise<void> {
  const { isServicePlatform } = await import('../service/choose-manager.ts')
  const { servicesOfUser } = await import('../service/user.ts')
  if (!isServicePlatform(process.platform)) return
  const { installer, manager } = servicesOfUser()
  for (const name of installer.names()) {
    await manager
      .unregister(name)
      .catch((error: Error) => warn(`${error.message}; the file of ${name} is removed anyway`))
    installer.remove(name)
    print(`service ${name}: removed`)
  }
}

async function stopServers(): Promise<string[]> {
  const { stopBackground } = await import('../background/background.ts')
  const { recordsOfUser } = await import('./daemon-server.ts')
  const records = recordsOfUser()
  const failures: string[] = []
  for (const record of records.list()) {
    try {
      const outcome = await stopBackground(record)
      records.remove(record.root)
      print(`server of ${record.root}: ${outcome}`)
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  return failures
}

/** Removes the recorded entries and, in the files of this user, those that start this program. */
async function removeEntries(): Promise<string[]> {
  const { clients } = await import('../setup/clients.ts')
  const { locationOfRecord } = await import('../setup/options.ts')
  const { planRemoval } = await import('../setup/plan.ts')
  const { isOurEntry } = await import('../setup/targets.ts')
  const { isOurSetting, persistenceRecord } = await import('../setup/persistence.ts')
  const { launcherRecord, planLauncherRemoval } = await import('../setup/launcher.ts')
  const { journalOfUser, thisUser } = await import('../setup/user.ts')
  const journal = journalOfUser()
  const user = thisUser()
  const recorded = journal
    .read()
    .edits.map(({ what, file }) => ({ what, file }))
    // The last one that was inserted may be within an earlier one.
    .reverse()
  const ofUser = clients.map((client) => ({ what: client.name as string, file: client.userFile(user) }))
  const others = ofUser.filter(({ what, file }) => !recorded.some((edit) => edit.what === what && edit.file === file))
  const isClient = (what: string) => clients.some(({ name }) => name === what)
  // A hook is found by its command; a number is the version of a file, which stays unless it was inserted.
  const isHook = (entry: unknown) => typeof entry !== 'number'
  const failures: string[] = []
  const launchers = recorded.filter(({ what }) => what === launcherRecord)
  // A launcher goes after all that names it.
  for (const { what, file } of [...recorded, ...others].filter((each) => !launchers.includes(each)).concat(launchers)) {
    try {
      if (what === launcherRecord) {
        const removal = planLauncherRemoval(file, journal, [])
        removal?.apply()
        print(
          removal === undefined
            ? `launcher: ${file} stays, since it was edited or is named`
            : `launcher: ${file} removed`
        )
        continue
      }
      const place = locationOfRecord(what, file)
      if (place === undefined) continue
      const isOurs = isClient(what) ? isOurEntry : what === persistenceRecord ? isOurSetting : isHook
      const plan = planRemoval(place, journal, isOurs)
      plan.apply()
      if (plan.isChange) print(`${what}: removed from ${file}`)
    } catch (error) {
      // A file that contains nothing of ours and cannot be read is not our business.
      if (recorded.some((edit) => edit.what === what && edit.file === file)) failures.push(messageOf(error))
    }
  }
  return failures
}

async function removeFolders(roots: readonly string[], isPurge: boolean, made: readonly string[]): Promise<void> {
  const { paths } = await import('../../support/user-paths.ts')
  const { removeEmptyFolders } = await import('../setup/folders.ts')
  const configFolder = dirname(paths.configFile)
  const ours = isPurge ? [paths.dataFolder, paths.logFolder, configFolder] : [paths.dataFolder]
  for (const root of roots) await removeOwnFolder(root)
  for (const folder of ours.filter((folder) => existsSync(folder))) {
    rmSync(folder, { recursive: true })
    print(`${folder}: removed`)
  }
  removeEmptyFolders(made)
  const left = [configFolder, paths.logFolder].filter((folder) => existsSync(folder))
  if (left.length > 0) print(`kept: ${left.join(', ')} (--purge removes them)`)
}

/** Only if no process serves the tree, and only a folder of this user. */
async function removeOwnFolder(root: string): Promise<void> {
  const { findServer } = await import('../../tree/state/state-file.ts')
  const { ownFolder } = await import('../../engine/files/temporary-names.ts')
  const folder = join(root, ownFolder)
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat === undefined) return
  const server = findServer(root)
  if (server !== undefined)
    return warn(`${folder} is kept: process ${server.pid} serves the tree; end its client, then remove it`)
  if (!stat.isDirectory() || (process.geteuid !== undefined && stat.uid !== process.geteuid()))
    return warn(`${folder} is kept: it is not a folder of yours`)
  rmSync(folder, { recursive: true })
  print(`${folder}: removed`)
}

function warn(message: string): void {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
}
