// What an operator wants to know of a tree that several hosts serve.

export interface HostFacts {
  /** Of this process; undefined if it is not the authority. */
  readonly epoch: number | undefined
  /** Host and port of the authority, as its key says; undefined while that is not known. */
  readonly authority: string | undefined
  /** Until this process may not change anything any more; 0 if it is not the authority. */
  readonly leaseMs: number
  /** What the last request to each endpoint came to. */
  readonly endpoints: readonly { readonly endpoint: string; readonly state: EndpointState }[]
}

export type EndpointState = 'answers' | 'fails' | 'unknown'
