// Finds the server of a file or a folder, by the state file above it.
import { dirname } from 'node:path'
import { findServer } from '../../tree/state/state-file.ts'
import type { Server } from './ask-server.ts'

interface Place {
  /** Absolute; undefined if only the folder is known. */
  readonly file?: string | undefined
  readonly cwd: string
}

/** Of nested trees the one of the file is right. @throws Error if there is none */
export function findServerOf({ file, cwd }: Place): Server {
  const state = (file === undefined ? undefined : findServer(dirname(file))) ?? findServer(cwd)
  if (state === undefined) throw new Error(describeAbsence(file ?? cwd))
  const { url, is_outside: isOutside, project } = state
  return { root: project.root, ...(url !== null && isOutside !== true && { url: toBase(url) }) }
}

/** A server outside of the container in which this hook runs leaves its state in the folder, by another path. */
function describeAbsence(place: string): string {
  let other: string | undefined
  findServer(place, {
    onOther: (root, here) =>
      (other ??= `a server has left its address in ${here}, which it serves as ${root}: if that is the same folder, outside of a container, start it with --known-as ${here}`)
  })
  return other ?? `no running server found above ${place}`
}

/** The base address of the routes, from that of the server or of its MCP endpoint. */
export function toBase(value: string): URL {
  const url = new URL(value)
  url.pathname = url.pathname.replace(/\/?(?:mcp)?\/?$/, '/')
  return url
}
