// Which requests may call this server: by the user of the connection, the name that they are meant for, their page and their token.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config/config.ts'
import type { OperationError } from '../errors.ts'
import { checkHost, checkOrigin, checkToken, type Hosts } from './access-checks.ts'
import { isPreflight } from './cross-origin.ts'
import { createSameUserCheck } from './peer/same-user.ts'

type Settings = Pick<Config['daemon'], 'allowed_hosts' | 'allowed_origins' | 'token'>

interface Options {
  /** daemon.host */
  readonly host: string
  readonly sameUserOnly: boolean
  /** The current ones. */
  readonly settings: () => Settings
}

export type Access = ReturnType<typeof createAccess>

export function createAccess({ host, sameUserOnly, settings }: Options) {
  const names = ['127.0.0.1', 'localhost', '[::1]', host.includes(':') ? `[${host}]` : host]
  const sameUser = sameUserOnly ? createSameUserCheck() : undefined
  let known = { port: undefined as number | undefined, added: [] as readonly string[], hosts: new Set<string>() }

  /** Made anew only when it changes, and not for each request. */
  function hostsAt(port: number | undefined): Hosts {
    const added = settings().allowed_hosts
    if (known.port !== port || known.added !== added)
      known = { port, added, hosts: new Set([...names.map((name) => `${name}:${port}`), ...added]) }
    return known.hosts
  }

  const isAdmitted = (origin: string | undefined): origin is string =>
    origin !== undefined && settings().allowed_origins.includes(origin)

  function check(request: IncomingMessage, isPublic: boolean): OperationError | undefined {
    const hosts = hostsAt(request.socket.localPort)
    return (
      checkHost(request, hosts) ??
      (isAdmitted(request.headers.origin) ? undefined : checkOrigin(request, hosts)) ??
      (isPublic || isPreflight(request) ? undefined : checkToken(request, settings().token))
    )
  }

  return {
    /** False if the system does not show whose a connection is, though only one user may call. */
    isUserKnown: !sameUserOnly || sameUser !== undefined,
    /** @param isPublic true for a route that needs no token. @returns undefined if the request may go on */
    refusalOf(
      request: IncomingMessage & { readonly socket: Socket },
      isPublic: boolean
    ): OperationError | undefined | Promise<OperationError | undefined> {
      const refusal = sameUser?.refusalOf(request.socket)
      if (refusal instanceof Promise) return refusal.then((late) => late ?? check(request, isPublic))
      return refusal ?? check(request, isPublic)
    },
    /** Whether pages of this origin may call, by daemon.allowed_origins. */
    isAdmitted
  }
}
