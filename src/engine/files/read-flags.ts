// How files are opened for reading.
import { constants } from 'node:fs'

/** O_NONBLOCK: if a FIFO has replaced the file since the walk, opening it returns at once instead of blocking a thread for ever. */
export const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
