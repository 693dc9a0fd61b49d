// What the program needs of a logger.

/** The part of a pino logger that operations use. Paths, hashes and metadata only, never content. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** The same, with these fields in every line. */
  child(fields: object): Logger
}
