// Checks what a tree of several hosts needs: etcd, the lease, and the volume.
import { existsSync, readdirSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../../schemas/config.ts'
import { stageFolder } from '../../engine/commit/take-stage.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { messageOf } from '../../support/error-message.ts'
import { createEtcdClient, type EtcdClient } from '../../tree/coordinator/etcd-client.ts'
import { marginShare, parseLeader, renewals } from '../../tree/coordinator/etcd.ts'
import { refuseMountsBelow } from '../../tree/coordinator/mounts.ts'
import { createStateDirectory } from '../../tree/state/state-directory.ts'
import { readTreeIdentity } from '../../tree/state/tree-identity.ts'
import { findings, type Finding } from './check.ts'

const timeoutMs = 2000
const { ok, warn, fail } = findings('hosts')

/** @param roots as given */
export async function checkHosts(roots: readonly string[], settings: Config['tree']): Promise<Finding[]> {
  if (settings.coordinator !== 'etcd') return [ok('one host serves the tree (tree.coordinator)')]
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)))
  const there = real.filter(existsSync)
  const [first] = there
  const identity = first === undefined ? undefined : readTreeIdentity(createStateDirectory(first))
  const key = `${settings.etcd_prefix}/${identity ?? ''}`
  const endpoints = await Promise.all(
    settings.etcd_endpoints.map((endpoint) => checkEndpoint(endpoint, clientOf(endpoint, settings), key, settings))
  )
  return [...endpoints.flat(), describeLease(settings), ...there.flatMap(checkVolume)]
}

function clientOf(endpoint: string, settings: Config['tree']): EtcdClient {
  const { etcd_username: username, etcd_password: password, etcd_ca: ca, etcd_cert: cert, etcd_key: key } = settings
  return createEtcdClient({ endpoints: [endpoint], username, password, ca, cert, key, timeoutMs })
}

/** Asks it who has the tree: only a node that belongs to a majority can answer that. */
async function checkEndpoint(
  endpoint: string,
  client: EtcdClient,
  key: string,
  { etcd_ttl_seconds: ttlSeconds }: Config['tree']
): Promise<Finding[]> {
  const since = performance.now()
  try {
    const held = await client.read(key)
    const ms = Math.round(performance.now() - since)
    const { host, port } = (held && parseLeader(held.value)) ?? {}
    const who = held === undefined ? 'no host has the tree' : `epoch ${held.revision}, served at ${host}:${port}`
    const message = `${endpoint} answers in ${ms} ms: ${who}`
    if (ms * renewals < ttlSeconds * 1000) return [ok(message)]
    return [warn(message, `that is too slow for tree.etcd_ttl_seconds ${ttlSeconds}: raise it on all hosts`)]
  } catch (error) {
    const advice = 'start that node, or correct tree.etcd_endpoints; without a majority of nodes no host is elected'
    return [fail(`${endpoint}: ${messageOf(error)}`, advice)]
  }
}

function describeLease({ etcd_ttl_seconds: ttlSeconds }: Config['tree']): Finding {
  const marginMs = ttlSeconds * 1000 * marginShare
  return ok(
    `a lease lasts ${ttlSeconds} s; a host stops ${marginMs} ms before its end, by a clock that is not set (drift of one part in ${1 / marginShare} is borne)`
  )
}

function checkVolume(root: string): Finding[] {
  try {
    refuseMountsBelow(root)
  } catch (error) {
    return [fail(messageOf(error), 'or serve it from one host')]
  }
  const stage = join(root, ownFolder, stageFolder)
  const epochs = existsSync(stage) ? readdirSync(stage) : []
  if (epochs.length === 0) return [ok(`${root}: one file system, and no host has served it yet`)]
  if (epochs.length === 1) return [ok(`${root}: one file system, its stage is of epoch ${epochs.join()}`)]
  return [warn(`${stage} has more than one epoch: ${epochs.join(', ')}`, 'stop all hosts of the tree, and remove it')]
}
