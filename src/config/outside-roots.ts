// Files of the server that must not lie below a root: agents that may change the tree could change them.
import { isAbsolute, join, relative, sep } from 'node:path'
import { toReal } from '../support/real-path.ts'
import { ownFolder } from '../engine/files/temporary-names.ts'
import type { ConfigFile } from './file.ts'
import { faultAt, type Fault, type Given } from './layer.ts'

export function checkOutsideRoots(values: ReadonlyMap<string, Given>, file: ConfigFile | undefined): Fault[] {
  const roots = values.get('crud.base_directories')?.value as readonly string[]
  const log = values.get('daemon.log_file') as Given
  const faults: Fault[] = []
  const inFile = file && findRootAbove(file.path, roots)
  if (file !== undefined && inFile !== undefined) {
    const origin = { source: 'file', file: file.path, line: 1, column: 1 } as const
    const message = `the configuration file ${file.path} lies inside the root ${inFile}, where every agent could change it: move it, and name it with --config`
    faults.push({ origin, message })
  }
  const logFile = log.value as string | null
  const inLog = logFile === null || logFile === 'auto' ? undefined : findRootAbove(logFile, roots)
  if (inLog !== undefined) {
    const what = `daemon.log_file must lie outside the roots, but ${logFile} is inside ${inLog}`
    faults.push(faultAt(log.origin, what, 'daemon.log_file'))
  }
  const state = values.get('persistence.state_file') as Given
  const stateFile = state.value as string | null
  const inState = stateFile === null ? undefined : findRootAbove(stateFile, roots)
  if (
    stateFile !== null &&
    inState !== undefined &&
    findRootAbove(stateFile, [join(inState, ownFolder)]) === undefined
  ) {
    const what = `persistence.state_file must lie outside the roots, or in the folder ${ownFolder} of one, but ${stateFile} is inside ${inState}`
    faults.push(faultAt(state.origin, what, 'persistence.state_file'))
  }
  return faults
}

/** @returns the root that this path lies in, through any links */
export function findRootAbove(path: string, roots: readonly string[]): string | undefined {
  const real = toReal(path)
  return roots.find((root) => {
    const way = relative(toReal(root), real)
    return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
  })
}
