// Whether a host sees at once what another one changes on the volume: clients of a volume may keep what they have looked at for a while.
import { randomBytes } from 'node:crypto'
import { lstat, readFile, unlink, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Stages } from '../../engine/commit/stages.ts'
import { pathInStage } from '../../engine/commit/take-stage.ts'
import { temporaryName, temporaryPrefix } from '../../engine/files/temporary-names.ts'
import { atMost } from '../../support/at-most.ts'

export interface VolumeView {
  /** Makes a file and looks at it, before the authority is asked to replace it. @returns undefined if the volume takes none now */
  lay(): Promise<Mark | undefined>
  /** As the authority: replaces the file of a host that joins. @returns what it says now; undefined if it could not be replaced */
  replace(name: string): Promise<string | undefined>
}

export interface Mark {
  readonly name: string
  /** Looks once more. @param said what the file says now. @throws UnfitVolume */
  assertSeen(said: string): Promise<void>
  remove(): void
}

/** Its message is for the user who started this process. */
export class UnfitVolume extends Error {}

/** A volume that is slower right now shows nothing: the host joins, and looks again when it joins the next time. */
const limitMs = 500
/** The other text is longer: of a file whose size is kept it shows the beginning. */
const before = 'before'
const saidBytes = 16

/** @param epoch of the authority that this process follows */
export function createVolumeView(stages: Stages, root: string, epoch: () => number | undefined): VolumeView {
  async function lay(name: string): Promise<Mark> {
    const path = pathInStage(root, epoch() ?? 0, name)
    await writeFile(path, before)
    // By its name alone: what is known of a file that was read is asked anew.
    await lstat(path)
    return {
      name,
      async assertSeen(said) {
        if ((await unlessLate(isSeen(path, said))) === false) throw new UnfitVolume(messageFor(root))
      },
      remove: () => void unlink(path).catch(() => {})
    }
  }

  async function replace(name: string): Promise<string> {
    const said = randomBytes(saidBytes).toString('hex')
    await stages.replace(name, said)
    return said
  }

  return {
    lay: () => unlessLate(lay(temporaryName())),
    replace: async (name) => (isName(name) ? unlessLate(replace(name)) : undefined)
  }
}

const isName = (name: string) => name.startsWith(temporaryPrefix) && basename(name) === name

/** As a change looks at its file: first by its name, then by what that leads to. */
async function isSeen(path: string, said: string): Promise<boolean> {
  return (await lstat(path)).size === said.length && (await readFile(path, 'utf8')) === said
}

/** A failure says nothing of what is seen: the stage may be another authority's by now. */
function unlessLate<Result>(work: Promise<Result>): Promise<Result | undefined> {
  return atMost(
    limitMs,
    work.catch(() => undefined)
  )
}

function messageFor(root: string): string {
  return `several hosts cannot serve ${root}: this host does not see at once what another host has changed there, so it could undo the change of another. Let its client of the volume keep nothing that it has looked at: for GlusterFS set performance.stat-prefetch off for the volume and mount it with -o entry-timeout=0,attribute-timeout=0; then start this host again`
}
