// What must hold after a swarm. Each violation is one sentence.
import { createHash } from 'node:crypto'
import { markerPattern, type Acknowledged, type WorkerReport } from './protocol.ts'

export interface SharedFile {
  readonly name: string
  readonly before: Buffer
  readonly after: Buffer
}

/** No update is lost, none is there twice, none is there that nobody was told of. */
export function checkFiles(files: readonly SharedFile[], reports: readonly WorkerReport[]): string[] {
  const acknowledged = reports.flatMap((report) => report.acknowledged)
  return files.flatMap((file) => {
    const own = acknowledged.filter((update) => update.file === file.name)
    return [...checkMarkers(file, own), ...checkVersions(file, own)]
  })
}

function checkMarkers({ name, after }: SharedFile, acknowledged: readonly Acknowledged[]): string[] {
  const found = new Map<string, number>()
  for (const [marker] of after.toString('utf8').matchAll(markerPattern)) found.set(marker, (found.get(marker) ?? 0) + 1)
  const violations: string[] = []
  for (const { marker } of acknowledged) {
    const count = found.get(marker) ?? 0
    if (count !== 1) violations.push(`${name}: acknowledged ${marker} is there ${count} times`)
    found.delete(marker)
  }
  for (const marker of found.keys()) violations.push(`${name}: ${marker} is there without having been acknowledged`)
  return violations
}

/** The acknowledged versions are one chain from the first bytes to the last: no two updates replaced the same version. */
function checkVersions({ name, before, after }: SharedFile, acknowledged: readonly Acknowledged[]): string[] {
  const next = new Map<string, string>()
  const violations: string[] = []
  for (const { marker, previousHash, hash } of acknowledged) {
    if (next.has(previousHash))
      violations.push(`${name}: ${marker} replaced a version that another update had replaced`)
    next.set(previousHash, hash)
  }
  let length = 0
  let hash = hashOf(before)
  for (let following = next.get(hash); following !== undefined; following = next.get(hash)) {
    next.delete(hash)
    hash = following
    length += 1
  }
  if (hash !== hashOf(after)) violations.push(`${name}: its bytes are not those of the last acknowledged version`)
  if (length !== acknowledged.length)
    violations.push(
      `${name}: ${acknowledged.length} updates were acknowledged, yet the chain of versions has ${length}`
    )
  return violations
}

export function checkClients(reports: readonly WorkerReport[], rounds: number, files: number): string[] {
  const violations = reports.flatMap(({ problems }) => problems)
  const done = reports.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)
  if (done !== rounds) violations.push(`${done} of ${rounds} rounds were acknowledged`)
  for (const { id, reads, readsAdvised } of reports)
    if (reads !== files + readsAdvised)
      violations.push(`${id} has read ${reads} times, not once each of ${files} files and ${readsAdvised} as advised`)
  return violations
}

function hashOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
