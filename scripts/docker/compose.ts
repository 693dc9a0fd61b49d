// Reads docker/compose.yaml, and refuses one that is less confined than the documentation says.
import { readFileSync } from 'node:fs'
import { parseYaml } from '@redocly/openapi-core'

export interface Service {
  readonly user: string
  readonly environment: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes: readonly { readonly type: string; readonly source: string; readonly target: string }[]
  readonly read_only: boolean
  readonly tmpfs: readonly string[]
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly privileged?: boolean
  readonly cap_add?: unknown
}

/** @param variables what docker/.env says */
export function readCompose(path: string, variables: Readonly<Record<string, string>>): Service {
  const { services } = parseYaml(substitute(path, variables)) as { services: Record<string, Service> }
  const [service, ...others] = Object.values(services)
  if (service === undefined || others.length > 0) throw new Error(`${path} must have one service`)
  const wrong = findWrong(service, variables)
  if (wrong.length > 0) throw new Error(`${path}: ${wrong.join(', ')} is not as it should be`)
  return service
}

/** The file, with the values of its variables. */
export function substitute(path: string, variables: Readonly<Record<string, string>>): string {
  return readFileSync(path, 'utf8').replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`${path} needs ${name}, which docker/.env is not said to have`)
    return value
  })
}

/** The members that make it less confined than the documentation says. */
export function findWrong(service: Service, variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(rules).flatMap(([name, holds]) => (holds(service, variables) ? [] : [name]))
}

const rules: Readonly<Record<string, (service: Service, variables: Readonly<Record<string, string>>) => boolean>> = {
  ports: ({ ports = [] }) => ports.length > 0 && ports.every((port) => port.startsWith('127.0.0.1:')),
  user: ({ user }, { UID, GID }) => user === `${UID}:${GID}`,
  volumes: ({ volumes }, { TREE }) =>
    volumes.filter(({ source, target }) => source === TREE && target === '/tree').length === 1 &&
    volumes.every(({ type, target }) => target === '/tree' || (type === 'volume' && target === '/state')),
  read_only: ({ read_only }) => read_only,
  tmpfs: ({ tmpfs }) => tmpfs.length === 1 && tmpfs[0] === '/tmp',
  cap_drop: ({ cap_drop, cap_add, privileged }) =>
    cap_drop.includes('ALL') && cap_add === undefined && privileged !== true,
  security_opt: ({ security_opt }) => security_opt.includes('no-new-privileges:true')
}
