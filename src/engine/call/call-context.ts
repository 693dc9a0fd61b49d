// The context of one call: what is its own, over the engine that all calls share.
import type { Config } from '../../../schemas/config.ts'
import type { AnswerRoom, Caller, Engine, OperationContext, OwnParts } from './context.ts'
import type { Logger } from '../../support/logger.ts'
import type { OwnReceipt } from '../receipts/receipts.ts'
import { CallWork } from '../budget/work-budget.ts'

type SharedParts = Omit<Engine, 'config'> & { readonly log: Logger }

/** The parts of the engine are inherited: to copy them would cost a call more than its locks do. */
export function createContexts(engine: SharedParts): (config: Config, call: OwnParts) => OperationContext {
  class CallContext {
    readonly config: Config
    readonly caller: Caller
    readonly signal: AbortSignal
    readonly progress: OwnParts['progress']
    readonly onWait: OwnParts['onWait']
    readonly log: Logger
    readonly work: CallWork
    readonly receipt: OwnReceipt | undefined
    readonly room: AnswerRoom | undefined

    constructor(
      config: Config,
      { caller, signal, progress, onWait }: OwnParts,
      work: CallWork,
      log: Logger,
      receipt?: OwnReceipt,
      room?: AnswerRoom
    ) {
      this.config = config
      this.caller = caller
      this.signal = signal
      this.progress = progress
      this.onWait = onWait
      this.log = log
      this.work = work
      this.receipt = receipt
      this.room = room
    }

    withRoom(room: AnswerRoom): CallContext {
      return new CallContext(this.config, this, this.work, this.log, this.receipt, room)
    }

    withAgent(agentId: string | undefined, changeSet = this.caller.changeSet): CallContext {
      const { config, caller, signal, progress, onWait, work, log } = this
      // A spread would be followed by members that it may not have: V8 adds these a slow way.
      const named = Object.assign({}, caller, { agentId, changeSet })
      return new CallContext(config, { caller: named, signal, progress, onWait }, work, log)
    }

    withProgress(progress: OwnParts['progress']): CallContext {
      if (progress === this.progress) return this
      const { config, caller, signal, onWait, work, log, receipt, room } = this
      return new CallContext(config, { caller, signal, progress, onWait }, work, log, receipt, room)
    }

    withReceipt(receipt: OwnReceipt | undefined): CallContext {
      return receipt === undefined ? this : new CallContext(this.config, this, this.work, this.log, receipt, this.room)
    }
  }
  Object.setPrototypeOf(CallContext.prototype, engine)
  return (config, call) =>
    new CallContext(
      config,
      call,
      new CallWork(engine.budget.work, call.signal),
      logOf(engine.log, call.caller)
    ) as unknown as OperationContext
}

/** The lines of a call say which trace it belongs to. */
function logOf(log: Logger, { trace }: Caller): Logger {
  return trace === undefined ? log : log.child({ trace_id: trace.traceId, span_id: trace.spanId })
}
