// Preact with htm: templates without a build step. Text is always text: nothing in a name is ever markup.
import htm from 'htm'
import { h, type VNode } from 'preact'

/** htm would keep each element without values for ever, and with it the whole page as it was when that was first drawn. */
const neverKept = 3

export const html = htm.bind(function (this: number[], ...element: Parameters<typeof h>) {
  this[0] = neverKept
  return h(...element)
}) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode
