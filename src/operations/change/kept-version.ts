// The bytes of a past version, or an error that says why there are none.
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'

/** @throws OperationError VERSION_NOT_KEPT */
export async function keptBytes({ bases }: OperationContext, path: string, hash: string): Promise<Buffer> {
  const bytes = await bases.get(hash)
  if (bytes !== undefined) return bytes
  const message = `No bytes are kept for ${hash}: the server has dropped that version (crud.base_cache_bytes), or never had it. async_history with path ${path} shows the versions that are kept.`
  throw new OperationError('VERSION_NOT_KEPT', message, { path })
}
