// Reads docker/compose.hosts.yaml, and refuses one whose parts do not fit together or whose hosts are less confined than docker/compose.yaml.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '@redocly/openapi-core'
import { loadConfig } from '../../src/config/config.ts'
import { findWrong, substitute, type Service } from './compose.ts'

export interface HostsFile {
  readonly services: Readonly<Record<string, Partial<Service> & { readonly command?: string }>>
  readonly configs: { readonly haproxy: { readonly content: string } }
  readonly volumes: Readonly<Record<string, null>>
}

/** @param variables what docker/.env says. @param scratch takes the settings of HAProxy, for it to check them */
export function checkHostsCompose(path: string, variables: Readonly<Record<string, string>>, scratch: string): void {
  const file = readHostsCompose(path, variables)
  const wrong = [...findFaults(file, variables)]
  if (wrong.length > 0) throw new Error(`${path}: ${wrong.join('; ')}`)
  checkHaproxy(file.configs.haproxy.content, scratch)
}

export function readHostsCompose(path: string, variables: Readonly<Record<string, string>>): HostsFile {
  return parseYaml(substitute(path, variables)) as HostsFile
}

function* findFaults({ services, configs, volumes }: HostsFile, variables: Readonly<Record<string, string>>) {
  const named = (start: string) => Object.keys(services).filter((name) => name.startsWith(start))
  const [nodes, hosts] = [named('etcd-'), named('host-')]
  if (nodes.length !== 3) yield 'etcd has not three nodes'
  if (hosts.length < 2) yield 'there are not two hosts'
  for (const name of nodes) {
    const { command = '', ports } = services[name] ?? {}
    if (ports !== undefined) yield `${name} can be reached from elsewhere`
    for (const other of nodes) if (!command.includes(`http://${other}:2380`)) yield `${name} does not know ${other}`
    if (!(name in volumes)) yield `${name} has no volume`
  }
  for (const name of hosts) {
    const service = services[name] as Service
    if (service.ports !== undefined) yield `${name} can be reached past the balancer`
    for (const rule of findWrong(service, variables))
      if (rule !== 'ports') yield `${name}: ${rule} is not as it should be`
    const { tree } = loadConfig({}, service.environment)
    if (!tree.advertise.startsWith(`${name}:`)) yield `${name} tells the others another address`
    for (const endpoint of tree.etcd_endpoints)
      if (!nodes.includes(new URL(endpoint).hostname)) yield `${name} asks ${endpoint}, which is no service`
    if (!configs.haproxy.content.includes(`server ${name} ${name}:`)) yield `the balancer does not know ${name}`
  }
  const { ports = [] } = services['balancer'] ?? {}
  if (ports.length === 0 || !ports.every((port) => port.startsWith('127.0.0.1:')))
    yield 'the balancer is not on loopback'
}

function checkHaproxy(content: string, scratch: string): void {
  const config = join(scratch, 'haproxy.cfg')
  writeFileSync(config, content)
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` }
  const { status, error, stderr } = spawnSync('haproxy', ['-c', '-f', config], { encoding: 'utf8', env })
  if (error !== undefined) console.log('not done: haproxy -c, since HAProxy is not here')
  else if (status !== 0) throw new Error(`haproxy -c: ${stderr}`)
}
