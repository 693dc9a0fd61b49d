// Finds the server of a file or a folder, by the state file above it.
import { dirname } from 'node:path'
import { findServer } from '../../tree/state/state-file.ts'

export interface Server {
  /** The base address of its routes; undefined if no process of the tree listens. */
  readonly url?: URL
  /** The first root; undefined for a server of which only the address is known. */
  readonly root?: string
}

interface Place {
  /** Absolute; undefined if only the folder is known. */
  readonly file?: string | undefined
  readonly cwd: string
}

/** Of nested trees the one of the file is right. @throws Error if there is none */
export function findServerOf({ file, cwd }: Place): Server {
  const state = (file === undefined ? undefined : findServer(dirname(file))) ?? findServer(cwd)
  if (state === undefined) throw new Error(describeAbsence(file, cwd))
  const { url, is_outside: isOutside, project } = state
  return { root: project.root, ...(url !== null && isOutside !== true && { url: toBase(url) }) }
}

/** A server outside of the container in which this hook runs leaves its state in the folder, by another path. */
function describeAbsence(file: string | undefined, cwd: string): string {
  let other: string | undefined
  findServer(file ?? cwd, {
    onOther: (root, here) =>
      (other ??= `a server has left its address in ${here}, which it serves as ${root}: if that is the same folder, outside of a container, start it with --known-as ${here}`)
  })
  const places = file === undefined ? cwd : `${file} or ${cwd}`
  return other ?? `no running server found above ${places}; start one, or name it with --url`
}

/** The base address of the routes, from that of the server or of its MCP endpoint. @throws Error */
export function toBase(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new Error('Expected an address such as http://127.0.0.1:8720.')
  url.pathname = url.pathname.replace(/\/?(?:mcp)?\/?$/, '/')
  return url
}
