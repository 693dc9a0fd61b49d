// The names under which calls through a relay keep their places: each says which process asks again.
import { placePrefix } from '../../engine/leases/tickets.ts'
import { isRunning } from '../../support/process-identity.ts'
import { thisProcess } from '../state/state-file.ts'

const pattern = new RegExp(`^${placePrefix}(\\d+)-(.+)-\\d+$`)
const [ownBoot] = thisProcess.process_start?.split('/') ?? []

/** No other process of the tree gives such a name. @param number of the call in this process */
export function nameOfPlace(number: number): string {
  return `${placePrefix}${thisProcess.pid}-${thisProcess.process_start ?? thisProcess.started_at}-${number}`
}

/** True if its process certainly asks for nothing more. The processes of another machine cannot be seen from here. */
export function hasEnded(place: string): boolean {
  const [, pid, start = ''] = pattern.exec(place) ?? []
  return pid !== undefined && start.split('/')[0] === ownBoot && !isRunning(Number(pid), start)
}
