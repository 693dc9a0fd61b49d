// GET /files/<folder>: which entries of a folder are listed.
import { ListInput } from './list.ts'
import { inputObject } from './typebox.ts'

const { pattern, limit, cursor } = ListInput.properties

/** The querystring; that of a file is checked likewise, and has no effect. */
export const FolderQuery = inputObject({ pattern, limit, cursor })
