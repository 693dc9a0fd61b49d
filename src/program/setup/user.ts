// The user that this process runs for.
import { homedir } from 'node:os'
import { paths } from '../../support/user-paths.ts'
import type { UserEnvironment } from './clients.ts'
import { createJournal, type Journal } from './journal.ts'

export function thisUser(): UserEnvironment {
  return { platform: process.platform, home: homedir(), environment: process.env }
}

export function journalOfUser(): Journal {
  return createJournal(paths.dataFolder)
}
