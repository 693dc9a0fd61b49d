// All properties of a lock manager. A suite over a factory: it runs over the real manager and over each of its mutants.
import { deadlockProperties } from './deadlock-properties.ts'
import { endingProperties } from './ending-properties.ts'
import { leaseEndingProperties } from './lease-ending-properties.ts'
import { leaseProperties } from './lease-properties.ts'
import { leaseUpgradeProperties } from './lease-upgrade-properties.ts'
import { leaseWaitingProperties } from './lease-waiting-properties.ts'
import { limitProperties } from './limit-properties.ts'
import type { LockProperty } from './lock-world.ts'
import { queueProperties } from './queue-properties.ts'
import { tableProperties } from './table-properties.ts'
import { ttlProperties } from './ttl-properties.ts'

export const lockProperties: readonly LockProperty[] = [
  ...queueProperties,
  ...endingProperties,
  ...ttlProperties,
  ...tableProperties,
  ...limitProperties,
  ...leaseProperties,
  ...leaseEndingProperties,
  ...leaseUpgradeProperties,
  ...leaseWaitingProperties,
  ...deadlockProperties
]
