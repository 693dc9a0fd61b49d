// list_files (FES 2.2): takes no lock; a snapshot of one moment.
import { isUtf8 } from 'node:buffer'
import { contract } from '../../schemas/contract.ts'
import type { ListFilesOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { countByteLines } from '../engine/diff/lines.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { countSteps } from '../support/progress.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { isFileName } from './file-name.ts'

export const listFiles = defineOperation({
  name: 'list_files',
  title: 'List the folder',
  description:
    'Lists the files directly in the first root that are not hidden, with size, time and number of lines (-1 if a file is too large or not UTF-8 text). For subdirectories, patterns and hashes use async_list.',
  ...contract.list_files,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors],
  handle: (_input, context) => list(context)
})

async function list({ files, config, signal, progress }: OperationContext): Promise<Static<typeof ListFilesOutput>> {
  const steps = countSteps(progress, 'entries')
  const found = await files.surveyFolder({ count, maxEntries: config.crud.max_list_entries, signal, steps })
  return {
    files: found.map(({ name, size, modified, isReadable, isWritable, lines }) => ({
      name,
      size,
      modified,
      readable: isReadable && isFileName(name),
      writable: isWritable && isFileName(name),
      lines
    })),
    total_count: found.length,
    directory: files.roots[0]?.given ?? ''
  }
}

function count(bytes: Buffer): number {
  return isUtf8(bytes) ? countByteLines(bytes) : -1
}
