// Preact with htm: templates without a build step. Text is always text: nothing in a name is ever markup.
import htm from 'htm'
import { h, type VNode } from 'preact'

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode
