// The context of one call: what is its own, over the engine that all calls share.
import type { Config } from '../../schemas/config.ts'
import type { Caller, Engine, Logger, OperationContext } from './context.ts'
import type { ReceiptTurn } from './receipts/receipts.ts'
import { CallWork } from './work-budget.ts'

type SharedParts = Omit<Engine, 'config'> & { readonly log: Logger }
type OwnParts = Pick<OperationContext, 'caller' | 'signal' | 'progress'>

/** The parts of the engine are inherited: to copy them would cost a call more than its locks do. */
export function createContexts(engine: SharedParts): (config: Config, call: OwnParts) => OperationContext {
  class CallContext {
    readonly config: Config
    readonly caller: Caller
    readonly signal: AbortSignal
    readonly progress: OwnParts['progress']
    readonly work: CallWork
    readonly receipt: ReceiptTurn | undefined

    constructor(config: Config, { caller, signal, progress }: OwnParts, work: CallWork, receipt?: ReceiptTurn) {
      this.config = config
      this.caller = caller
      this.signal = signal
      this.progress = progress
      this.work = work
      this.receipt = receipt
    }

    withAgent(agentId: string | undefined, changeSet = this.caller.changeSet): CallContext {
      const { config, caller, signal, progress, work } = this
      return new CallContext(config, { caller: { ...caller, agentId, changeSet }, signal, progress }, work)
    }

    withReceipt(receipt: ReceiptTurn | undefined): CallContext {
      return receipt === undefined ? this : new CallContext(this.config, this, this.work, receipt)
    }
  }
  Object.setPrototypeOf(CallContext.prototype, engine)
  return (config, call) =>
    new CallContext(config, call, new CallWork(engine.budget.work, call.signal)) as unknown as OperationContext
}
