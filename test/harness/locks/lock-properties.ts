// All properties of a lock manager. A suite over a factory: it runs over the real manager and over each of its mutants.
import { deadlockProperties } from './deadlock-properties.ts'
import { endingProperties } from './ending-properties.ts'
import { leaseDetailProperties } from './lease-detail-properties.ts'
import { leaseEndingProperties } from './lease-ending-properties.ts'
import { leaseFindingProperties } from './lease-finding-properties.ts'
import { leaseProperties } from './lease-properties.ts'
import { leaseRestoringProperties } from './lease-restoring-properties.ts'
import { leaseUpgradeProperties } from './lease-upgrade-properties.ts'
import { leaseWaitingProperties } from './lease-waiting-properties.ts'
import { limitProperties } from './limit-properties.ts'
import type { LockProperty } from './lock-world.ts'
import { messageProperties } from './message-properties.ts'
import { observerProperties } from './observer-properties.ts'
import { queueProperties } from './queue-properties.ts'
import { tableProperties } from './table-properties.ts'
import { ttlProperties } from './ttl-properties.ts'

export const lockProperties: readonly LockProperty[] = [
  ...queueProperties,
  ...endingProperties,
  ...ttlProperties,
  ...tableProperties,
  ...limitProperties,
  ...messageProperties,
  ...observerProperties,
  ...leaseProperties,
  ...leaseEndingProperties,
  ...leaseFindingProperties,
  ...leaseRestoringProperties,
  ...leaseDetailProperties,
  ...leaseUpgradeProperties,
  ...leaseWaitingProperties,
  ...deadlockProperties
]
