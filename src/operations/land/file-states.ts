// What is at a path: in a commit, and in the tree.

/** A file, or a link: then the bytes are its target. */
export interface Content {
  readonly bytes: Buffer
  readonly isLink: boolean
}

export interface HeadFile extends Content {
  /** Absolute, as all paths here. */
  readonly path: string
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
}

export interface NowFile extends Content {
  readonly path: string
  /** Undefined if the repository takes no notice of modes: then it is as in HEAD. */
  readonly isExecutable: boolean | undefined
}

/** What a commit that HEAD was before had at a path. */
export interface PastHead {
  readonly bytes: Buffer
  /** When HEAD left it, at the latest, in milliseconds since the epoch. */
  readonly until: number
  /** Why HEAD left it, as its log says. */
  readonly reason: string
}
