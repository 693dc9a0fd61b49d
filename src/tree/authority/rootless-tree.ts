// The tree of a process that serves no folder.
import type { EngineLink } from '../../engine/call/engine-link.ts'
import type { Tree } from './tree.ts'

/** For a process without a root: every call is refused anyway, and there is no tree to be the authority of. */
export function createRootlessTree(engine: EngineLink): Tree {
  return {
    ...engine,
    join: async () => {},
    bringEvents: async () => {},
    assertInPlace: () => {},
    findObstacle: async () => undefined,
    hostFacts: () => undefined,
    role: () => 'none',
    authorityPid: () => null,
    introduce: () => {},
    announceLeaving: async () => {},
    hangUp: engine.disconnect,
    endConnections: () => {},
    isLast: () => false,
    leave: async () => {}
  }
}
