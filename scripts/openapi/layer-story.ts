// The part of the story in which ann runs a command on a layer over the project.
import type { AnswerTo, Step } from './step.ts'

const layerOf = (answerTo: AnswerTo) => answerTo('layer_begin', 'begin')['layer'] as string

export const layers: readonly Step[] = [
  {
    operation: 'layer_begin',
    name: 'begin',
    summary: 'ann runs her tests on a layer.',
    input: () => ({ command: 'npm test', pid: process.pid, agent_id: 'ann', change_set: 'tests' })
  },
  {
    operation: 'layer_end',
    name: 'ended',
    summary: 'The command has ended, and has written nothing.',
    input: (answerTo) => ({ layer: layerOf(answerTo), exit_code: 0 })
  },
  { operation: 'layer_list', name: 'one', summary: 'Until it is applied or dropped, the layer is kept.', input: {} },
  {
    operation: 'layer_apply',
    name: 'applied',
    summary: 'All that the command has written goes over.',
    input: (answerTo) => ({ layer: layerOf(answerTo) })
  },
  {
    operation: 'layer_drop',
    name: 'gone',
    summary: 'There is nothing to drop any more.',
    input: (answerTo) => ({ layer: layerOf(answerTo) })
  }
]
