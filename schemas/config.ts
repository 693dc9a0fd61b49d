// Every setting with its default, bounds and meaning: written only here, one file per section.
import { crud } from './settings/crud.ts'
import { daemon } from './settings/daemon.ts'
import { events } from './settings/events.ts'
import { hooks } from './settings/hooks.ts'
import { locks } from './settings/locks.ts'
import { mcp } from './settings/mcp.ts'
import { persistence } from './settings/persistence.ts'
import { tree } from './settings/tree.ts'
import { Type, type Static } from './typebox.ts'
import { land } from './settings/land.ts'
import { watcher } from './settings/watcher.ts'

export const Config = Type.Object(
  { daemon, crud, locks, hooks, persistence, watcher, events, mcp, tree, land },
  { additionalProperties: false, description: 'Configuration of async-crud-mcp.' }
)
export type Config = Static<typeof Config>
