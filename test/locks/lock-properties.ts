// All properties of a lock manager. A suite over a factory: it runs over the real manager and over each of its mutants.
import { endingProperties } from './ending-properties.ts'
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
  ...limitProperties
]
