// What setting up a client changes: the entry of the server, and the hooks if the client has some.
import type { Client, Launch, UserEnvironment } from './clients.ts'
import type { HookForm } from './hook-forms.ts'
import { hookLocations } from './hooks.ts'
import type { Journal } from './journal.ts'
import { launcherOf, planLauncher, planLauncherRemoval } from './launcher.ts'
import { serverLocation } from './options.ts'
import { planAddition, planRemoval, type Plan } from './plan.ts'
import { isOurEntry } from './targets.ts'

interface ClientChange {
  readonly launch: Launch
  readonly user: UserEnvironment
  readonly journal: Journal
  /** Undefined for the files of this user. */
  readonly project?: string | undefined
  readonly hasHooks: boolean
  /** Default: as programs. */
  readonly hookForm?: HookForm | undefined
  readonly isRemoval?: boolean | undefined
  /** Replaces an entry of our name that setup did not write. */
  readonly isForced?: boolean | undefined
}

/** What files of a user mean, before they are written. @param what such as "Claude Code" or "these clients" */
export function describeReach(what: string, hasHooks: boolean, advice: string): string {
  return `This is for all projects: whatever folder ${what} works in, it gets the tools${hasHooks ? ' and hooks' : ''} of this one tree. ${advice}`
}

/** One plan for each file, that of the entry first. @throws as `planAddition` does, and if the client has no file for one project */
export function planClient(client: Client, change: ClientChange): readonly [Plan, ...Plan[]] {
  const plans = planFiles(client, change)
  const { launch, user, journal, project, hasHooks, isRemoval = false, isForced = false } = change
  if (project === undefined) return plans
  if (isRemoval) {
    const removal = planLauncherRemoval(launcherOf(project), journal, plans)
    return removal === undefined ? plans : [...plans, removal]
  }
  const isNeeded = launch.transport === 'stdio' || (hasHooks && hookLocations(client.name, user, project).length > 0)
  return isNeeded ? [...plans, planLauncher(project, journal, isForced)] : plans
}

function planFiles(client: Client, change: ClientChange): readonly [Plan, ...Plan[]] {
  const { launch, user, journal, project, hasHooks, hookForm, isRemoval = false, isForced = false } = change
  const place = serverLocation(client, launch, user, project)
  const isOurs = isForced ? () => true : isOurEntry
  const eitherOurs = (entry: unknown) => isOurs(entry) || isHookGroup(entry)
  const plan = isRemoval ? planRemoval : planAddition
  const [hook, ...others] = hasHooks || isRemoval ? hookLocations(client.name, user, project, hookForm) : []
  if (hook === undefined) return [plan(place, journal, isOurs)]
  // Gemini CLI keeps both in one file, which is changed once.
  if (hook.file === place.file) return [plan([place, hook, ...others], journal, eitherOurs)]
  return [plan(place, journal, isOurs), plan([hook, ...others], journal, isOurHook)]
}

/** A hook is known by its command; a number is a version, which is the user's unless it was inserted. */
function isOurHook(entry: unknown): boolean {
  return typeof entry !== 'number'
}

/** A group of hooks, which is ours by its command: other groups are never taken for ours. */
function isHookGroup(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'hooks' in entry
}
