// What the page shows, as its address: it survives a reload, and can be sent to others. Pure.

export interface Address<View extends string> {
  readonly view: View
  /** What is chosen in the view, and how it is narrowed. */
  readonly query: Readonly<Record<string, string>>
}

export function parseAddress<View extends string>(hash: string, views: readonly [View, ...View[]]): Address<View> {
  const [name, query = ''] = hash.slice(1).split(/\?(.*)/s) as [string, string?]
  return {
    view: views.find((each) => each === name) ?? views[0],
    query: Object.fromEntries(new URLSearchParams(query))
  }
}

/** Leads to the timeline, narrowed. */
export type OnHistory = (filter: { agent?: string; path?: string; since?: string | undefined }) => void

/** What is empty or undefined is left out. */
export function formatAddress(view: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return `#${view}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`
}
