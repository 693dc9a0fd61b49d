// The coordinator of a tree, from the settings: of this machine alone, or of several hosts, which agree by etcd.
import { hostname } from 'node:os'
import type { Config } from '../../../schemas/config.ts'
import type { Coordinator } from './coordinator.ts'
import { createEtcdClient } from './etcd-client.ts'
import { createEtcdCoordinator, type EtcdOptions } from './etcd.ts'
import { createHostLink } from './host-link.ts'
import { createLocalCoordinator } from './local.ts'

interface Options extends Pick<EtcdOptions, 'roots' | 'onTrouble'> {
  readonly settings: Config['tree']
  /** Undefined if one host serves the tree. */
  readonly stages: EtcdOptions['stages'] | undefined
}

/** @throws Error if a file of the settings cannot be read */
export function createCoordinator({ stages, ...options }: Options): Coordinator {
  return stages === undefined ? createLocalCoordinator(options.roots) : createHosts({ stages, ...options })
}

function createHosts({ settings, ...options }: Options & Pick<EtcdOptions, 'stages'>): Coordinator {
  const { etcd_endpoints: endpoints, etcd_username: username, etcd_password: password } = settings
  const { etcd_ca: ca, etcd_cert: cert, etcd_key: key, etcd_ttl_seconds: ttlSeconds } = settings
  const { relay_secret: secret, relay_ca, relay_cert, relay_key } = settings
  // A renewal must get round all endpoints before the lease ends.
  const timeoutMs = (ttlSeconds * 1000) / (2 * Math.max(2, endpoints.length))
  return createEtcdCoordinator({
    ...options,
    client: createEtcdClient({ endpoints, username, password, ca, cert, key, timeoutMs }),
    createLink: (tree) => createHostLink({ secret, ca: relay_ca, cert: relay_cert, key: relay_key }, tree),
    prefix: settings.etcd_prefix,
    ttlSeconds,
    advertise: parseAddress(settings.advertise)
  })
}

function parseAddress(address: string): { host: string; port: number } {
  const [, host = hostname(), port = '0'] = /^(.+):(\d+)$/.exec(address) ?? []
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}
