// Several hosts: a key under a lease in etcd elects the authority; its create revision is the epoch. Nothing of a call asks etcd.
import { once } from 'node:events'
import { isIP, type AddressInfo, type Server } from 'node:net'
import { OperationError } from '../../errors.ts'
import type { Stages } from '../../engine/commit/stages.ts'
import { messageOf } from '../../support/error-message.ts'
import { parseFields } from '../../support/json-fields.ts'
import type { MeetingPoint } from './meeting-point.ts'
import { refuseLocalServer } from '../state/authority-lock.ts'
import type { MembersLock } from '../state/members-lock.ts'
import type { Root } from '../../engine/files/roots.ts'
import { servedDirectory } from '../state/served-directory.ts'
import { ensureTreeIdentity } from '../state/tree-identity.ts'
import { ElectedMeanwhile, type Coordinator } from './coordinator.ts'
import { EtcdTrouble, type EtcdClient, type Held } from './etcd-client.ts'
import type { HostLink } from './host-link.ts'
import { refuseMountsBelow } from './mounts.ts'
import { noAuthorityDetail } from './read-alone.ts'
import { createVolumeProof } from './volume-proof.ts'
import { createVolumeView } from './volume-view.ts'

export interface EtcdOptions {
  readonly client: EtcdClient
  /** @param tree its identity */
  readonly createLink: (tree: () => string) => HostLink
  readonly stages: Stages
  /** Real paths; the first names the tree. */
  readonly roots: readonly [Root, ...Root[]]
  readonly prefix: string
  readonly ttlSeconds: number
  /** Where other hosts reach this one; port 0 is any free one. */
  readonly advertise: { readonly host: string; readonly port: number }
  /** Reports what keeps this host from the tree; undefined once it is well. */
  readonly onTrouble: (message: string | undefined) => void
}

/** What the key says. The address is missing until the authority listens. */
export interface Leader {
  readonly pid: number
  readonly host: string
  readonly port: number | undefined
}

interface Term {
  readonly lease: string
  readonly epoch: number
}

/** Of the lease: for clocks that run at slightly different speeds, and for the moment between the last check and the change. */
export const marginShare = 0.1
/** Renewals in the time of one lease. */
export const renewals = 3
/** A relay that hears nothing asks, and gives the authority up, before etcd does. */
const silenceShare = 0.7

// Longer than 150 lines: the states of one term, and all ways between them, in one place.
export function createEtcdCoordinator(options: EtcdOptions): Coordinator {
  const { client, createLink, stages, prefix, ttlSeconds, advertise, onTrouble } = options
  const roots = options.roots.map(({ real }) => real)
  const directory = servedDirectory(options.roots[0])
  let identity: string | undefined
  const tree = () => (identity ??= ensureTreeIdentity(directory))
  const key = () => `${prefix}/${tree()}`
  const link = createLink(tree)
  let term: Term | undefined
  /** Kept when the term has ended: the state of this process is that of this epoch. */
  let lastEpoch: number | undefined
  /** By performance.now(), which no one sets. Until then no other process can be elected. */
  let deadline = -Infinity
  /** The other process that is the authority. */
  let followed: { readonly leader: Leader | undefined; readonly epoch: number } | undefined
  let renewal: NodeJS.Timeout | undefined
  const volume = createVolumeProof(stages, options.roots, ttlSeconds)
  let ownAddress: string | undefined

  /** Etcd counts from when it gets the request, so the deadline from before that is too early rather than too late. */
  function extend(askedAt: number, seconds: number): void {
    deadline = askedAt + seconds * 1000 * (1 - marginShare)
  }

  async function renew(): Promise<boolean> {
    if (term === undefined) return false
    const renewed = term
    const askedAt = performance.now()
    const seconds = await client.keepAlive(renewed.lease)
    if (term !== renewed || seconds === 0) return false
    extend(askedAt, seconds)
    return true
  }

  function keepRenewing(): void {
    clearTimeout(renewal)
    if (term === undefined) return
    renewal = setTimeout(
      () => {
        void proveVolume()
        renew()
          .then(
            (isRenewed) =>
              onTrouble(isRenewed ? undefined : 'etcd has ended the lease of this host: it must be elected again.'),
            (error: unknown) =>
              onTrouble(
                `The lease of this host cannot be renewed: ${messageOf(error)}. Changes are refused once it ends.`
              )
          )
          .finally(keepRenewing)
      },
      (ttlSeconds * 1000) / renewals
    ).unref()
  }

  /** A host that cannot change files must not keep the tree from the others. */
  async function proveVolume(): Promise<void> {
    const proven = term
    const trouble = await volume.prove(() => term === proven && performance.now() < deadline)
    if (trouble === undefined) return
    onTrouble(`The stage of this host takes no changes any more: ${trouble}. It leaves the tree to the others.`)
    await endTerm()
  }

  async function endTerm(): Promise<void> {
    clearTimeout(renewal)
    const ended = term
    term = undefined
    deadline = -Infinity
    if (ended !== undefined) await withdraw(ended.lease)
  }

  async function campaign(): Promise<boolean> {
    if (volume.isLost()) return false
    try {
      // Before anything of several hosts is in the tree: a server of one host would refuse it then.
      await volume.look()
      if (await renew()) return true
      const found = await client.read(key())
      if (found !== undefined) return follow(found)
      return await stand()
    } catch (error) {
      return failWithoutEtcd(error)
    }
  }

  async function stand(): Promise<boolean> {
    await volume.assertUsable(lastEpoch !== undefined)
    refuseLocalServer(roots)
    for (const root of options.roots) {
      refuseMountsBelow(root.real)
      // A server of one host that finds it refuses to serve the root.
      ensureTreeIdentity(servedDirectory(root))
    }
    const askedAt = performance.now()
    const granted = await client.grant(ttlSeconds)
    const held = await client.elect(key(), describe(undefined), granted.lease)
    if (held === undefined || held.lease !== granted.lease) {
      await client.revoke(granted.lease)
      return held !== undefined && follow(held)
    }
    try {
      const before = stages.take(held.revision)
      // Another authority has changed what this process remembers.
      if (lastEpoch !== undefined && before !== lastEpoch) return await withdraw(granted.lease)
    } catch (error) {
      await withdraw(granted.lease)
      // Once the lease has ended, the next host may have the stage.
      throw performance.now() - askedAt < granted.ttlSeconds * 1000 ? error : new ElectedMeanwhile(error)
    }
    term = { lease: granted.lease, epoch: held.revision }
    lastEpoch = held.revision
    extend(askedAt, granted.ttlSeconds)
    keepRenewing()
    onTrouble(undefined)
    return true
  }

  async function withdraw(lease: string): Promise<false> {
    await client.revoke(lease).catch(() => {})
    return false
  }

  function follow({ value, revision }: Held): false {
    followed = { leader: parseLeader(value), epoch: revision }
    return false
  }

  function describe(port: number | undefined): string {
    return JSON.stringify({ pid: process.pid, host: advertise.host, port } satisfies Leader)
  }

  /** Relays find the authority by the value of its key. */
  async function publish(port: number): Promise<void> {
    if (term === undefined) return
    const { epoch, lease } = term
    const held = await client.change(key(), epoch, describe(port), lease).catch(failWithoutEtcd)
    if (held?.revision !== epoch) throw new ElectedMeanwhile()
    ownAddress = `${advertise.host}:${port}`
  }

  return {
    campaign,
    async look() {
      const found = await client.read(key())
      if (found === undefined) followed = undefined
      else follow(found)
    },
    isInPlace: () => performance.now() < deadline && !volume.isLost(),
    leader: () => (term === undefined ? followed?.leader?.pid : process.pid),
    leaderHint: '',
    epoch: () => term?.epoch,
    async resign() {
      lastEpoch = undefined
      await endTerm()
    },
    openPoint(): MeetingPoint {
      const { host, port } = followed?.leader ?? {}
      let isListening = false
      return {
        targets: host === undefined || port === undefined ? [] : [(signal) => link.connect(host, port, signal)],
        async serve(accept): Promise<Server> {
          const server = link.createServer(accept)
          server.listen(advertise.port, isAddress(advertise.host) ? advertise.host : undefined)
          await once(server, 'listening')
          try {
            await publish((server.address() as AddressInfo).port)
          } catch (error) {
            server.close()
            throw error
          }
          isListening = true
          server.once('close', () => (isListening = false))
          return server
        },
        isInPlace: () => isListening,
        close() {}
      }
    },
    members,
    // Further roots have the same path on all hosts.
    names: () => [tree(), ...roots.slice(1)],
    isLeased: true,
    silenceMs: ttlSeconds * 1000 * silenceShare,
    view: createVolumeView(stages, roots[0]!, () => followed?.epoch),
    facts: () => ({
      epoch: term?.epoch,
      authority: term === undefined ? addressOf(followed?.leader) : ownAddress,
      leaseMs: Math.max(0, deadline - performance.now()),
      endpoints: client.endpoints()
    })
  }
}

/** The state of the tree stays on the volume, whether or not a process serves it. */
const members: MembersLock = { join() {}, isMember: () => true, isAlone: () => false, leave() {}, remove() {} }

function failWithoutEtcd(error: unknown): never {
  if (!(error instanceof EtcdTrouble)) throw error
  const message = `No host can be elected to serve this tree: ${messageOf(error)}. Nothing was done. Try again once etcd answers.`
  throw new OperationError('OVERLOADED', message, {
    details: { retry_after_seconds: 1, ...noAuthorityDetail },
    cause: error
  })
}

export function parseLeader(value: string): Leader | undefined {
  const { pid, host, port } = parseFields(value) ?? {}
  if (typeof host !== 'string' || !Number.isInteger(pid)) return undefined
  return { pid: Number(pid), host, port: Number.isInteger(port) ? Number(port) : undefined }
}

function addressOf(leader: Leader | undefined): string | undefined {
  return leader?.port === undefined ? undefined : `${leader.host}:${leader.port}`
}

function isAddress(host: string): boolean {
  return host === 'localhost' || isIP(host) !== 0
}
