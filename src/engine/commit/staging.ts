// What a path is to get, under temporary names until the change: new bytes, a link, or a second name of what is elsewhere.
import { symlinkSync, unlinkSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { isErrno, OperationError } from '../../errors.ts'
import { isUnsupported } from '../../support/unsupported.ts'
import { readLink } from '../files/links.ts'
import { descriptorPaths, link as linkTo, type Shelf } from '../files/directory.ts'
import type { FileVersion } from '../files/read-file.ts'
import { temporaryName } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'
import type { Stage } from './stages.ts'
import type { StagedFile, Writer } from './write-file.ts'

export interface NewBytes {
  readonly kind: 'bytes'
  readonly bytes: Buffer
  readonly hash: string
  /** The version whose mode and owner are kept. */
  readonly like?: FileVersion | undefined
  readonly mode?: number | undefined
}

/** What a path has after a change. */
export type After =
  | { readonly kind: 'none' }
  | NewBytes
  /** What another path had. */
  | { readonly kind: 'moved'; readonly from: OpenEntry; readonly version: FileVersion | undefined }
  | { readonly kind: 'link'; readonly target: string }

/**
 * @param place in its folder, which exists by now
 * @param path as the caller spelt it
 * @param stage undefined if one host serves the tree: then what is staged lies beside the place
 */
export function createStaging(writer: Writer, place: OpenEntry, path: string, stage: Stage | undefined) {
  const shelf: Shelf = stage ?? place.directory
  const files: StagedFile[] = []
  const names: string[] = []

  async function copy(bytes: Buffer, like: FileVersion | undefined, mode?: number): Promise<string> {
    const file = await writer.stage({ place, bytes, replaces: like, mode }, stage)
    files.push(file)
    return file.name
  }

  function link(target: string): string {
    const made = temporaryName()
    shelf.within((at) => symlinkSync(target, at(made)))
    names.push(made)
    return made
  }

  /** A second name of an entry, or a copy if the file system has no such names, or is another one. */
  async function secondName(entry: OpenEntry, version: FileVersion | undefined): Promise<string> {
    const second = temporaryName()
    names.push(second)
    try {
      linkTo(entry.directory, entry.name, shelf, second)
      return second
    } catch (error) {
      if (!isUnsupported(error) && !isErrno(error, 'EXDEV', 'EMLINK')) throw error
      names.pop()
      if (version !== undefined) return copy(version.bytes, version)
      if (entry.stat?.isSymbolicLink() !== true) throw notCopied(path, error)
      return link(readLink(entry))
    }
  }

  return {
    shelf,
    /** The bytes to sync. */
    files,
    secondName,
    /** @returns its temporary name; null for nothing */
    stage: async (after: After): Promise<string | null> => {
      if (after.kind === 'none') return null
      if (after.kind === 'bytes') return copy(after.bytes, after.like, after.mode)
      return after.kind === 'link' ? link(after.target) : secondName(after.from, after.version)
    },
    /** Removes what was staged and is not needed any more: off this thread, since the system frees what was replaced. */
    clear: async (): Promise<void> => {
      for (const file of files) file.discard()
      await Promise.all(names.map((name) => removeStaged(shelf, name).catch(() => {})))
    }
  }
}

/** Off this thread, if that can reach the folder. */
async function removeStaged(shelf: Shelf, name: string): Promise<void> {
  if (descriptorPaths) return shelf.within((at) => unlink(at(name)))
  shelf.within((at) => unlinkSync(at(name)))
}

function notCopied(path: string, cause: unknown): OperationError {
  const message = `The file is above the size limit, and the file system gives it no second name: ${path}. Nothing was changed. Move it with the system's own tools.`
  return new OperationError('FILE_TOO_LARGE', message, { path, cause })
}
