// A folder as a plain list, and the address of its next page.
import type { Static } from '../../../schemas/typebox.ts'
import type { ListOutput } from '../../../schemas/list.ts'

export type Listing = Static<typeof ListOutput>

/**
 * One relative address a line, percent-encoded where a name needs it; that of a folder ends with a slash.
 * @param path as it was asked for: behind one without a slash at its end, addresses are relative to the folder above
 */
export function folderAsText({ entries }: Listing, path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1)
  const start = ['', '.', '..'].includes(last) ? '' : `${addressOf(last)}/`
  return entries.map(({ name, type }) => `${start}${addressOf(name)}${type === 'directory' ? '/' : ''}\n`).join('')
}

/** Relative to the address that was asked for; undefined on the last page. */
export function nextPageOf({ next_cursor: cursor }: Listing, query: object): string | undefined {
  return cursor === undefined ? undefined : `?${new URLSearchParams({ ...query, cursor }).toString()}`
}

function addressOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/')
}
