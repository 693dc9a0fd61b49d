// A relay whose authority has the volume at another path: paths that the authority says by itself, as this host has them.
import { OperationError, type ErrorOnWire } from '../../errors.ts'
import type { CarryCall, OperationResult } from '../../engine/call/context.ts'
import type { TreeEvent } from '../../engine/events/tree-event.ts'
import { mapTexts } from '../../support/map-texts.ts'
import { relocation, relocationInProse } from '../../support/relocate.ts'
import { pathNames, withCommonPaths } from '../coordinator/common-paths.ts'
import { mapHookAnswer, mapHookInput, nativeHook } from '../coordinator/hook-paths.ts'
import type { Relay } from './relay.ts'

const messageNames: ReadonlySet<string> = new Set(['message'])
/** Of questions: the path with which the page before ended. */
const pageNames: ReadonlySet<string> = new Set(['after'])

/** @param spellings of the first root here, its real path first */
export function atOwnMount(relay: Relay, spellings: readonly [string, ...string[]]): Relay {
  const [own] = spellings
  const theirs = relay.roots[0] ?? own
  if (theirs === own) return relay
  const toTheirs = relocation(own, theirs)
  const toOwn = relocation(theirs, own)
  const inProse = relocationInProse(theirs, own)
  const inAnswer = <Answer>(answer: Answer): Answer =>
    mapTexts(mapTexts(answer, pathNames, toOwn), messageNames, inProse) as Answer

  const callTheirs = withCommonPaths(relay.call, spellings, theirs)
  const call: CarryCall = async (operation, input, options) => {
    const isNative = operation.name === nativeHook
    try {
      const result = await callTheirs(operation, isNative ? mapHookInput(input, toTheirs) : input, options)
      return isNative ? (mapHookAnswer(result, inProse) as OperationResult) : inAnswer(result)
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      const wire: ErrorOnWire = error.toWire()
      const { path, message } = wire
      throw OperationError.fromWire({
        ...inAnswer(wire),
        path: path === undefined ? path : toOwn(path),
        message: inProse(message)
      })
    }
  }

  return {
    ...relay,
    call,
    ask: async (question) => inAnswer(await relay.ask(mapTexts(question, pageNames, toTheirs) as typeof question)),
    feed: (listener) => relay.feed((event) => listener(mapTexts(event, pathNames, toOwn) as TreeEvent))
  }
}
