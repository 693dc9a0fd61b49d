// Thirty real clients and 2,000 rounds on five shared files: does every acknowledged change arrive, and what does it cost?
import { transports } from '../../test/fixtures/clients.ts'
import type { WorkerReport } from '../../test/harness/swarm/protocol.ts'
import { runSwarm, type SwarmResult } from '../../test/harness/swarm/swarm.ts'
import { withOwner } from '../owner.ts'
import { percentile, sum } from '../statistics.ts'
import { figure, percent, printTable, whole, type Row } from '../table.ts'

const clients = { rest: 10, 'mcp-2026': 10, 'mcp-2025': 10 }
const rounds = 2000

export async function swarm(): Promise<void> {
  console.log(
    '\n## swarm: thirty client processes, five shared files, read again only where that is cheaper than a diff'
  )
  const result = await withOwner((owner) => runSwarm(owner, { clients, rounds }))
  const { reports } = result
  const rows = transports.map((transport) =>
    rowOf(
      transport,
      reports.filter((report) => report.transport === transport)
    )
  )
  const head = [
    'clients',
    'rounds',
    'contentions',
    'to look at',
    'retries p50',
    'p99',
    'most',
    'diffs KB',
    're-reading KB',
    'diffs of it'
  ]
  printTable('rounds and their price', head, [...rows, rowOf('all', reports)])
  printSummary(result)
  if (result.violations.length > 0) process.exitCode = 1
}

function rowOf(name: string, reports: readonly WorkerReport[]): Row {
  const total = (count: (report: WorkerReport) => number) => sum(reports.map(count))
  const retries = reports.flatMap((report) => report.retries)
  const [diffs, rereading] = [total((report) => report.contentionBytes), total((report) => report.rereadBytes)]
  return [
    name,
    whole(retries.length),
    whole(total((report) => report.contentions)),
    whole(total((report) => report.conflicts)),
    ...[50, 99, 100].map((rank) => whole(percentile(retries, rank))),
    whole(diffs / 1024),
    whole(rereading / 1024),
    percent(diffs / rereading)
  ]
}

function printSummary({ reports, wallMs, clientCpuMs, violations }: SwarmResult): void {
  const done = sum(reports.map(({ retries }) => retries.length))
  const readsAgain = sum(reports.map(({ readsAdvised }) => readsAdvised))
  const calls = done + readsAgain + sum(reports.map(({ contentions }) => contentions))
  const perSecond = (count: number) => figure((count * 1000) / wallMs)
  console.log(
    `\n${whole(done)} rounds in ${figure(wallMs / 1000)} s: ${perSecond(done)} rounds and ${perSecond(calls)} calls per second. ` +
      `${whole(readsAgain)} contentions were followed by a read. The clients took ${figure(clientCpuMs / 1000)} s of processor time.`
  )
  console.log(
    violations.length === 0 ? 'Violations: none.' : `Violations:\n${violations.map((line) => `- ${line}`).join('\n')}`
  )
}
