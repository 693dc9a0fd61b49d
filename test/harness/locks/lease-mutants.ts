// Faults of leases: in the line, at their ends, and in what whoever asks for one is told.
import type { Mutant } from './mutant-loader.ts'

export const leaseMutants: readonly Mutant[] = [
  {
    fault: 'a lease keeps reads out',
    file: 'queue',
    edits: [["return this.#bindsOperations && operation.mode === 'exclusive';", 'return this.#bindsOperations;']],
    breaks: 'a lease, shared or exclusive, keeps the writes of all others out; reads and its own agent pass',
    foundByHistories: true
  },
  {
    fault: 'a lease keeps its own agent out',
    file: 'queue',
    edits: [['if (isSameAgent(one, other))', 'if (false)']],
    breaks: 'a lease, shared or exclusive, keeps the writes of all others out; reads and its own agent pass',
    foundByHistories: true
  },
  {
    fault: 'a shared lease keeps no write out',
    file: 'queue',
    edits: [["&& operation.mode === 'exclusive';", "&& one.mode === 'exclusive' && other.mode === 'exclusive';"]],
    breaks: 'two writers with a shared lease each on one path wait for each other',
    foundByHistories: true
  },
  {
    fault: 'leases do not exclude each other',
    file: 'queue',
    edits: [
      [
        'if (one.isLease && other.isLease)\n            return true;',
        'if (one.isLease && other.isLease)\n            return false;'
      ]
    ],
    breaks: 'leases of two agents exclude each other unless both are shared',
    foundByHistories: true
  },
  {
    fault: 'shared leases exclude each other',
    file: 'queue',
    edits: [
      [
        "if (one.mode === 'shared' && other.mode === 'shared')",
        "if (!one.isLease && one.mode === 'shared' && other.mode === 'shared')"
      ]
    ],
    breaks: 'leases of two agents exclude each other unless both are shared',
    foundByHistories: true
  },
  {
    fault: 'a lease does not wait for a write under way',
    file: 'queue',
    edits: [
      [
        'const operation = one.isLease ? other : one;',
        'if (one.isLease)\n            return false;\n        const operation = one;'
      ]
    ],
    breaks: 'a write under way keeps the leases of others waiting, not one of its own agent; a read keeps none',
    foundByHistories: true
  },
  {
    fault: 'leases that only advise bind operations',
    file: 'lock-table',
    edits: [['this.#options.leasesBindOperations)', 'true)']],
    breaks: 'leases that bind no operation keep each other out, and nothing else',
    foundByHistories: true
  },
  {
    fault: 'nobody passes the operations that a lease keeps from running',
    file: 'queue',
    edits: [[': this.#isKeptBy(leases, other);', ': false;']],
    breaks: 'a read passes the writes that a lease keeps from running, and once it has ended no other',
    foundByHistories: true
  },
  {
    fault: 'operations pass each other beside any lease',
    file: 'queue',
    edits: [[': this.#isKeptBy(leases, other);', ': leases.length > 0;']],
    breaks: 'no operation passes one that merely waits for another operation, lease or no lease'
  },
  {
    fault: 'who holds a lease does not pass those who wait for one',
    file: 'queue',
    edits: [['? hasLease || this.#willShareBefore(entry, other) :', '? false :']],
    breaks: 'the operations of who holds a lease pass those who wait for one; those of others do not',
    foundByHistories: true
  },
  {
    fault: 'everybody passes those who wait for a lease',
    file: 'queue',
    edits: [['? hasLease || this.#willShareBefore(entry, other) :', '? true :']],
    breaks: 'who waits for a lease is waited for by later leases and writes of others, and by no read',
    foundByHistories: true
  },
  {
    fault: 'an upgrade goes to the end of the line',
    file: 'queue',
    edits: [['entry.isLease || other.isLease ? hasLease', 'entry.isLease ? false : other.isLease ? hasLease']],
    breaks: 'an upgrade waits for the other shared leases only, and goes before everybody who waits',
    foundByHistories: true,
    seed: 1
  },
  {
    fault: 'who gives no name is taken for the holder',
    file: 'queue',
    edits: [
      [
        'return one.acquisition.agentId === other.acquisition.agentId;',
        'const names = [one, other].map(({ acquisition }) => acquisition.agentId);\n    return names.includes(undefined) || names[0] === names[1];'
      ]
    ],
    breaks: 'a lease, shared or exclusive, keeps the writes of all others out; reads and its own agent pass'
  },
  {
    fault: 'who has a lease passes whatever waits',
    file: 'queue',
    edits: [[': this.#isKeptBy(leases, other);', ': hasLease || this.#isKeptBy(leases, other);']],
    breaks: 'no operation passes one that merely waits for another operation, lease or no lease'
  },
  {
    fault: 'who asks for a lease passes the operations that another keeps from running',
    file: 'queue',
    edits: [['entry.isLease || other.isLease ? hasLease', 'other.isLease ? hasLease']],
    breaks: 'a shared lease waits behind the write that another shared lease keeps from running'
  },
  {
    fault: 'only who asks for a lease passes those who ask after him',
    file: 'queue',
    edits: [
      [
        'hasOwn ||= isSameAgent(operation, lease);',
        'hasOwn ||= !this.holders.has(lease) && isSameAgent(operation, lease);'
      ]
    ],
    breaks: 'an operation is not kept back by the lease that another has asked for after its agent had one'
  },
  {
    fault: 'nothing keeps the operations of who has a lease himself',
    file: 'queue',
    edits: [['if (hasOwn && !this.holders.has(lease))', 'if (hasOwn)']],
    breaks: 'a read passes the writes that a lease keeps from running, and once it has ended no other'
  },
  {
    fault: 'of several leases only the first keeps operations',
    file: 'queue',
    edits: [['for (const lease of leases) {', 'for (const lease of leases.slice(0, 1)) {']],
    breaks: 'a read passes the writes that a lease keeps from running, and once it has ended no other'
  },
  {
    fault: 'the queue forgets that it knows leases when the last one that waited has left',
    file: 'queue',
    edits: [['return this.leases.length > 0 || this.#leaseWaiters > 0;', 'return this.#leaseWaiters > 0;']],
    breaks: 'a lease, shared or exclusive, keeps the writes of all others out; reads and its own agent pass',
    foundByHistories: true
  },
  {
    fault: 'only the first in line is looked at where a lease waits and none is held',
    file: 'queue',
    edits: [['return this.leases.length > 0 || this.#leaseWaiters > 0;', 'return this.leases.length > 0;']],
    breaks: 'leases that bind no operation keep each other out, and nothing else',
    foundByHistories: true
  },
  {
    fault: 'only the first in line is granted where leases are',
    file: 'queue',
    edits: [
      [
        'for (const entry of this.waiters())\n            if (this.isFreeFor(entry))',
        'for (const entry of [...this.waiters()].slice(0, 1))\n            if (this.isFreeFor(entry))'
      ]
    ],
    breaks: 'an upgrade waits for the other shared leases only, and goes before everybody who waits',
    foundByHistories: true,
    seed: 9
  },
  {
    fault: 'a lease that was released stays among the leases',
    file: 'queue',
    edits: [['this.leases.splice(this.leases.indexOf(entry.acquisition), 1);', '']],
    breaks: 'renewing sets how long a lease lasts, for now and for each use after, and brings none back',
    foundByHistories: true,
    seed: 4
  },
  {
    fault: 'a release takes the first of several leases from the list',
    file: 'queue',
    edits: [['this.leases.splice(this.leases.indexOf(entry.acquisition), 1);', 'this.leases.shift();']],
    breaks: 'an upgrade waits for the other shared leases only, and goes before everybody who waits'
  },
  {
    fault: 'a change of mode is not counted',
    file: 'queue',
    edits: [["this.#exclusive += mode === 'exclusive' ? 1 : -1;", '']],
    breaks: 'a shared lease that is the only one becomes exclusive where it stands, and keeps its token'
  },
  {
    fault: 'a stronger request beside a lease is a second lease',
    file: 'lease-transitions',
    edits: [
      ['if (own !== undefined) {\n            queue.release(entry);', 'if (false) {\n            queue.release(entry);']
    ],
    breaks: 'an upgrade waits for the write that its own lease does not keep out',
    foundByHistories: true
  },
  {
    fault: 'an upgrade does not change the mode',
    file: 'lease-transitions',
    edits: [["if (request.mode === 'exclusive')\n            queue.changeMode(own, 'exclusive');", '']],
    breaks: 'a shared lease that is the only one becomes exclusive where it stands, and keeps its token',
    foundByHistories: true
  },
  {
    fault: 'asking again for less makes a lease weaker',
    file: 'lease-transitions',
    edits: [
      [
        "if (request.mode === 'exclusive')\n            queue.changeMode(own, 'exclusive');",
        'queue.changeMode(own, request.mode);'
      ]
    ],
    breaks: 'a shared lease that is the only one becomes exclusive where it stands, and keeps its token',
    foundByHistories: true
  },
  {
    fault: 'a lease granted at once does not let what else its agent waits for run',
    file: 'lease-transitions',
    edits: [['request.onGrant(request);\n        this.#table.promote(queue);', 'request.onGrant(request);']],
    breaks: 'an exclusive lease waited for becomes an upgrade when its agent is granted a shared one at once'
  },
  {
    fault: 'asking again forgets the note',
    file: 'lease-transitions',
    edits: [['own.note = request.note ?? own.note;', 'own.note = request.note;']],
    breaks: 'asking again renews a lease without shortening it, and keeps its token and its note'
  },
  {
    fault: 'asking again keeps the old connection',
    file: 'lease-transitions',
    edits: [['own.connection = request.connection;', '']],
    breaks: 'asking again renews a lease without shortening it, and keeps its token and its note'
  },
  {
    fault: 'asking again does not change how long each use renews for',
    file: 'lease-transitions',
    edits: [['own.ttlMs = request.ttlMs;', '']],
    breaks: 'asking again renews a lease without shortening it, and keeps its token and its note',
    foundByHistories: true,
    seed: 9
  },
  {
    fault: 'asking again does not renew',
    file: 'lease-transitions',
    edits: [['this.#extend(own, now + lifetimeOf(request));', '']],
    breaks: 'asking again renews a lease without shortening it, and keeps its token and its note',
    foundByHistories: true
  },
  {
    fault: 'a renewal shortens',
    file: 'lease-transitions',
    edits: [['if (expiresAt > lease.expiresAt)', 'if (lease)']],
    breaks: 'asking again renews a lease without shortening it, and keeps its token and its note',
    foundByHistories: true
  },
  {
    fault: 'an operation of its agent does not renew a lease',
    file: 'lock-table',
    edits: [['this.leases.use(own, now);', '']],
    breaks: 'a lease lasts anew from each operation of its agent on the path, also one that has to wait',
    foundByHistories: true
  },
  {
    fault: 'only operations that need not wait renew a lease',
    file: 'lock-table',
    edits: [
      ['this.leases.use(own, now);', 'if (queue.isFreeFor(entry))\n                    this.leases.use(own, now);']
    ],
    breaks: 'a lease lasts anew from each operation of its agent on the path, also one that has to wait',
    foundByHistories: true,
    seed: 2
  },
  {
    fault: 'a renewal does not count for later uses',
    file: 'lease-transitions',
    edits: [['lease.ttlMs = ttlMs;', '']],
    breaks: 'renewing sets how long a lease lasts, for now and for each use after, and brings none back'
  },
  {
    fault: 'a renewal only ever lengthens',
    file: 'lease-transitions',
    edits: [['this.#setExpiry(lease, this.#now() + ttlMs);', 'this.#extend(lease, this.#now() + ttlMs);']],
    breaks: 'renewing sets how long a lease lasts, for now and for each use after, and brings none back',
    foundByHistories: true,
    seed: 9
  },
  {
    fault: 'the end of a lease is not told',
    file: 'lease-transitions',
    edits: [["this.#options.onLeaseEnd(lease, { cause: 'expired' });", ';']],
    breaks: 'the end of a lease is told once and with its cause, unless its agent released it',
    foundByHistories: true
  },
  {
    fault: 'a release is told as an end',
    file: 'lease-transitions',
    edits: [
      [
        'if (end !== undefined)\n            this.#options.onLeaseEnd(lease, end);',
        "this.#options.onLeaseEnd(lease, end ?? { cause: 'expired' });"
      ]
    ],
    breaks: 'the end of a lease is told once and with its cause, unless its agent released it',
    foundByHistories: true
  },
  {
    fault: 'a broken lease is a released one',
    file: 'lease-manager',
    edits: [['this.#table.leases.end(lease, end);', 'this.#table.leases.end(lease);']],
    breaks: 'the end of a lease is told once and with its cause, unless its agent released it',
    foundByHistories: true
  },
  {
    fault: 'a disconnect is told as an expiry',
    file: 'lease-manager',
    edits: [["{ cause: 'disconnected' }", "{ cause: 'expired' }"]],
    breaks: 'the end of a lease is told once and with its cause, unless its agent released it'
  },
  {
    fault: 'a disconnect ends all leases',
    file: 'lease-manager',
    edits: [['.filter((lease) => lease.connection === connection)', '']],
    breaks: 'a release of all, a disconnect and a break end what they name, and nothing else'
  },
  {
    fault: 'a release of all leaves one',
    file: 'lease-manager',
    edits: [
      [
        'const leases = [...this.#table.agents.leasesOf(agentId)];',
        'const leases = [...this.#table.agents.leasesOf(agentId)].slice(0, 1);'
      ]
    ],
    breaks: 'the end of a lease is told once and with its cause, unless its agent released it',
    foundByHistories: true
  },
  {
    fault: 'a break ends one lease of several',
    file: 'lease-manager',
    edits: [['?.leases ?? [])];', '?.leases ?? [])].slice(1);']],
    breaks: 'however a lease ends, those whom it kept waiting are granted in their order',
    foundByHistories: true
  },
  {
    fault: 'whoever looks for a lease believes the timer',
    file: 'lease-manager',
    edits: [[' find(key, agentId) {\n        this.#table.catchUp();', ' find(key, agentId) {']],
    breaks: 'a lease ends at its very millisecond, for whoever looks, also where the timer comes late'
  },
  {
    fault: 'whoever asks for a lease believes the timer',
    file: 'lease-manager',
    edits: [['this.#table.catchUp(now);\n        const asked', 'const asked']],
    breaks: 'a lease ends at its very millisecond, for whoever looks, also where the timer comes late'
  },
  {
    fault: 'a break believes the timer',
    file: 'lease-manager',
    edits: [['this.#table.catchUp();\n        const leases = [...(this', 'const leases = [...(this']],
    breaks: 'a lease ends at its very millisecond, for whoever looks, also where the timer comes late'
  },
  {
    fault: 'leases take the tokens of operations',
    file: 'lease-transitions',
    edits: [['tokens.nextForLease();', 'tokens.next();']],
    breaks: 'where no token can be promised a lease is refused, and the next in line runs'
  },
  {
    fault: 'a lease has the token of the one before',
    file: 'lease-transitions',
    edits: [
      [
        'restored?.fencingToken ?? this.#options.tokens.nextForLease();',
        '(this.last ??= this.#options.tokens.nextForLease());'
      ]
    ],
    breaks: 'the token of a lease is larger than any before, and a lease that ended gives the next one another',
    foundByHistories: true
  },
  {
    fault: 'a lease without a token stands in the way',
    file: 'lease-transitions',
    edits: [
      [
        'catch (error) {\n            return this.#table.fail(request, error);',
        'catch (error) {\n            return request.reject(error);'
      ]
    ],
    breaks: 'where no token can be promised a lease is refused, and the next in line runs'
  },
  {
    fault: 'a request to a stopping manager never settles',
    file: 'lease-manager',
    edits: [
      [
        'this.#table.fail(asked.acquisition, stopping(asked.acquisition, this.#table.stopReason));',
        'asked.acquisition.reject(stopping(asked.acquisition, this.#table.stopReason));'
      ]
    ],
    breaks: 'a stopping manager refuses the leases waited for and those to come, and leaves what is held until its end'
  },
  {
    fault: 'a stopping manager gives leases',
    file: 'lease-manager',
    edits: [
      [
        'if (this.#table.stopReason === undefined)\n            asked.enter(now);',
        'if (now)\n            asked.enter(now);'
      ]
    ],
    breaks: 'a stopping manager refuses the leases waited for and those to come, and leaves what is held until its end'
  },
  {
    fault: 'a request is undone with whatever its lease has become',
    file: 'lease-request',
    edits: [
      [
        'this.#table.leases.withdraw(this.#lease, this.#mode,',
        'this.#table.leases.withdraw(this.#lease, this.acquisition.mode,'
      ]
    ],
    breaks: 'undoing a request leaves a lease that its agent had before, or has asked for since'
  },
  {
    fault: 'undoing ends the lease, whoever else has been granted it',
    file: 'lease-transitions',
    edits: [['if (claims.shared === 0)\n            return', 'if (claims)\n            return']],
    breaks: 'undoing a request leaves a lease that its agent had before, or has asked for since',
    foundByHistories: true,
    seed: 10
  },
  {
    fault: 'undoing twice counts twice',
    file: 'lease-request',
    edits: [['this.#isUndone = true;', '']],
    breaks: 'undoing a request leaves a lease that its agent had before, or has asked for since'
  },
  {
    fault: 'an upgrade stays when it is undone',
    file: 'lease-transitions',
    edits: [["queue.changeMode(lease, 'shared');", '']],
    breaks: 'undoing a request gives a new lease back, makes an upgraded one shared again, and leaves a queue',
    foundByHistories: true,
    seed: 44
  },
  {
    fault: 'those who wait for an upgrade that is undone are not granted',
    file: 'lease-transitions',
    edits: [
      ["queue.changeMode(lease, 'shared');\n        this.#table.promote(queue);", "queue.changeMode(lease, 'shared');"]
    ],
    breaks: 'undoing a request gives a new lease back, makes an upgraded one shared again, and leaves a queue'
  },
  {
    fault: 'undoing leaves a waiting request in line',
    file: 'lease-request',
    edits: [['this.cancel(cause);\n        if', 'if']],
    breaks: 'undoing a request gives a new lease back, makes an upgraded one shared again, and leaves a queue',
    foundByHistories: true
  },
  {
    fault: 'a request that brings no new lease counts for nothing',
    file: 'lease-transitions',
    edits: [['own.claims[request.mode] += 1;', '']],
    breaks: 'undoing a request leaves a lease that its agent had before, or has asked for since',
    foundByHistories: true,
    seed: 10
  },
  {
    fault: 'of two requests granted together the second stands for both',
    file: 'lease-transitions',
    edits: [['request.claims[request.mode] += 1;', '']],
    breaks: 'of two requests that waited together, undoing the stronger leaves the weaker one its lease',
    foundByHistories: true
  },
  {
    fault: 'undoing looks for the lease that its agent has now',
    file: 'lease-transitions',
    edits: [
      [
        'claims[mode] -= 1;',
        'claims[mode] -= 1;\n        for (const now of this.#table.agents.leasesOf(lease.agentId))\n            if (now !== lease)\n                this.#table.release(now);'
      ]
    ],
    breaks: 'undoing a request whose lease has ended does not touch the lease that came after',
    foundByHistories: true
  },
  {
    fault: 'an upgrade keeps the lease that has ended',
    file: 'lease-transitions',
    edits: [
      [
        'this.#table.agents.addLease(request);',
        'this.#table.agents.addLease(request);\n        request.fencingToken = (this.last ??= request).agentId === agentId ? this.last.fencingToken : request.fencingToken;'
      ]
    ],
    breaks: 'an upgrade whose lease ends meanwhile brings a new lease with a new token',
    foundByHistories: true
  },
  {
    fault: 'no place is kept',
    file: 'lock-table',
    edits: [['acquisition.graceMs > 0)', 'false)']],
    breaks: 'a request whose timeout ends keeps its place for its grace, and then leaves with LOCK_TIMEOUT',
    foundByHistories: true
  },
  {
    fault: 'a place is kept for ever',
    file: 'lock-table',
    edits: [['else if (acquisition.isParked)', 'else if (false)']],
    breaks: 'a request whose timeout ends keeps its place for its grace, and then leaves with LOCK_TIMEOUT',
    foundByHistories: true,
    seed: 16
  },
  {
    fault: 'what was granted while nobody waited lasts its whole time',
    file: 'lease-transitions',
    edits: [['return isParked ? Math.min(ttlMs, graceMs) : ttlMs;', 'return ttlMs;']],
    breaks: 'what is granted while nobody waits for it lasts no longer than the grace, until somebody comes for it',
    foundByHistories: true
  },
  {
    fault: 'the grace prolongs a short lease',
    file: 'lease-transitions',
    edits: [['Math.min(ttlMs, graceMs)', 'graceMs']],
    breaks: 'what is granted while nobody waits for it lasts no longer than the grace, until somebody comes for it',
    foundByHistories: true,
    seed: 43
  },
  {
    fault: 'coming back prolongs only a lease of its own',
    file: 'lease-transitions',
    edits: [
      [
        "if (lease?.state === 'held')\n            this.use(lease, now);",
        "if (request.state === 'held')\n            this.use(request, now);"
      ]
    ],
    breaks: 'an upgrade granted while nobody waits for it lasts its whole time once somebody comes for it'
  },
  {
    fault: 'coming back does not prolong the wait',
    file: 'lease-transitions',
    edits: [["if (request.state === 'waiting')\n            this.#table.setDeadline(request, now + timeoutMs);", '']],
    breaks: 'whoever comes back for a kept place waits anew from there, and can go away again'
  },
  {
    fault: 'whoever comes back is taken for gone',
    file: 'lease-transitions',
    edits: [['request.isParked = false;', '']],
    breaks: 'whoever comes back for a kept place waits anew from there, and can go away again'
  },
  {
    fault: 'coming back revives what is over by the clock',
    file: 'lease-request',
    edits: [['this.#table.catchUp();', '']],
    breaks: 'a place kept or a lease granted whose time is over by the clock does not come back to life'
  },
  {
    fault: 'only the last who awaits a request is told',
    file: 'lease-request',
    edits: [['this.#listeners.push(resolve)', '(this.#listeners = [resolve])']],
    breaks: 'everybody who awaits the outcome of a request is told of its grant, its refusal and its parking'
  },
  {
    fault: 'parking is not told',
    file: 'lease-transitions',
    edits: [['request.onPark?.();', '']],
    breaks: 'everybody who awaits the outcome of a request is told of its grant, its refusal and its parking'
  },
  {
    fault: 'a cancellation comes back for what was granted',
    file: 'lease-request',
    edits: [['cancel(cause) {', 'cancel(cause) {\n        this.#table.release(this.acquisition);']],
    breaks: 'a cancelled request leaves its queue at once; once granted it stays granted',
    foundByHistories: true,
    seed: 10
  },
  {
    fault: 'positions are told while nobody waits for the answer',
    file: 'lease-request',
    edits: [['if (this.isParked)\n            return;', '']],
    breaks: 'who waits for a lease is told its position while somebody waits for the answer, and whoever comes back too'
  },
  {
    fault: 'positions are told to who has gone',
    file: 'lease-request',
    edits: [['this.#onPosition = onPosition;', '']],
    breaks: 'who waits for a lease is told its position while somebody waits for the answer, and whoever comes back too'
  },
  {
    fault: 'a listener of positions that throws is not heard',
    file: 'lease-request',
    edits: [['this.#table.fail(this.acquisition, error);', ';']],
    breaks: 'a position listener that throws fails its own request for a lease and nobody else\u2019s'
  },
  {
    fault: 'an upgrade counts as another lease',
    file: 'lock-table',
    edits: [['isLease && queue.leaseOf(agentId) === undefined', 'isLease']],
    breaks: 'an agent at its limit of leases is refused another with OVERLOADED, also one it waited for, but no upgrade'
  },
  {
    fault: 'who may not have another lease waits for it',
    file: 'lock-table',
    edits: [['if (isLease && queue.leaseOf(agentId) === undefined) {', 'if (false) {']],
    breaks: 'an agent at its limit of leases is refused another with OVERLOADED, also one it waited for, but no upgrade'
  },
  {
    fault: 'the limit of leases is one too many',
    file: 'lease-transitions',
    edits: [
      [
        'agents.leasesOf(request.agentId).size >= maxLeasesPerAgent',
        'agents.leasesOf(request.agentId).size > maxLeasesPerAgent'
      ]
    ],
    breaks: 'an agent at its limit of leases is refused another with OVERLOADED, also one it waited for, but no upgrade'
  },
  {
    fault: 'the default limit of leases is another',
    file: 'lock-manager',
    edits: [['maxLeasesPerAgent: 10_000', 'maxLeasesPerAgent: 20_000']],
    breaks: 'an agent holds up to 10,000 leases, and those it waits for count as its waiters'
  },
  {
    fault: 'an agent\u2019s leases are never forgotten',
    file: 'agents',
    edits: [['if (this.#entriesOf(lease.agentId).leases.delete(lease))', 'if (lease)']],
    breaks: 'agents that hold and wait for nothing leave nothing behind, however it ended',
    foundByHistories: true
  },
  {
    fault: 'LOCK_TIMEOUT names an operation before a lease',
    file: 'errors',
    edits: [
      [
        'return [...holders.filter(({ isLease }) => isLease), ...holders.filter(({ isLease }) => !isLease)];',
        'return holders;'
      ]
    ],
    breaks: 'LOCK_TIMEOUT names the holder of the lease, its note, until when, and how to be the one who holds it'
  },
  {
    fault: 'LOCK_TIMEOUT names the caller\u2019s own lease',
    file: 'status',
    edits: [['(blockers.length > 0 ? blockers : [...queue.holders])', '[...queue.holders]']],
    breaks: 'LOCK_TIMEOUT names the holder of the lease, its note, until when, and how to be the one who holds it'
  },
  {
    fault: 'status does not show that a place is kept',
    file: 'status',
    edits: [['entry.since, timeoutAt, isParked }', 'entry.since, timeoutAt, isParked: false }']],
    breaks: 'a request whose timeout ends keeps its place for its grace, and then leaves with LOCK_TIMEOUT',
    foundByHistories: true,
    seed: 7
  },
  {
    fault: 'status shows leases as operations',
    file: 'status',
    edits: [['return { isLease, mode', 'return { isLease: false, mode']],
    breaks: 'a free path is leased in the same turn, and the status shows by whom, until when and what for'
  },
  {
    fault: 'a lease ends with the operation that it covers',
    file: 'lock-table',
    edits: [
      [
        "acquisition.state = 'released';\n        this.#deadlines.delete(acquisition);",
        "acquisition.state = 'released';\n        this.#deadlines.delete(acquisition);\n        if (acquisition.isLease)\n            for (const entry of acquisition.entry.queue.holders)\n                if (entry.acquisition.agentId === acquisition.agentId)\n                    this.release(entry.acquisition);"
      ]
    ],
    breaks: 'a lease that ends does not interrupt the operation that it covers; the lease of another waits for it',
    foundByHistories: true
  },
  {
    fault: 'trying for a lease waits',
    file: 'lease-manager',
    edits: [['return this.isFree(request, options) ? this', 'return options ? this']],
    breaks: 'trying a lease takes what is free or held already, and otherwise changes nothing'
  },
  {
    fault: 'a grace that is no number passes',
    file: 'lease-acquisition',
    edits: [["requireDuration('graceMs', options.graceMs)", 'options.graceMs']],
    breaks: 'a request for a lease with a duration that is none is a fault of the program'
  },
  {
    fault: 'an upgrade is granted beside a write under way of another',
    file: 'lock-table',
    edits: [
      [
        'if (!queue.isFreeFor(entry))\n                return',
        'if ((own === undefined || !entry.isLease) && !queue.isFreeFor(entry))\n                return'
      ]
    ],
    breaks: 'an upgrade waits for the other shared leases only, and goes before everybody who waits',
    foundByHistories: true
  },
  {
    fault: 'the leases of others are not counted',
    file: 'lease-transitions',
    edits: [['agents.leaseCount >= maxLeases ?', 'false ?']],
    breaks: 'all agents together at the limit of leases are refused another with OVERLOADED, and none that is there'
  },
  {
    fault: 'the limit of all leases is one too many',
    file: 'lease-transitions',
    edits: [['agents.leaseCount >= maxLeases ?', 'agents.leaseCount > maxLeases ?']],
    breaks: 'all agents together at the limit of leases are refused another with OVERLOADED, and none that is there'
  },
  {
    fault: 'a lease that ends still counts for all',
    file: 'agents',
    edits: [['this.leaseCount -= 1;', ';']],
    breaks: 'all agents together at the limit of leases are refused another with OVERLOADED, and none that is there'
  },
  {
    fault: 'a request that failed counts as a lease that ended',
    file: 'agents',
    edits: [
      [
        'if (this.#entriesOf(lease.agentId).leases.delete(lease))\n            this.leaseCount -= 1;',
        'this.#entriesOf(lease.agentId).leases.delete(lease);\n        this.leaseCount -= 1;'
      ]
    ],
    breaks: 'all agents together at the limit of leases are refused another with OVERLOADED, and none that is there'
  },
  {
    fault: 'what nobody may come for is kept for its whole time',
    file: 'lease-request',
    edits: [['this.#table.leases.keepForGrace(this.acquisition);', ';']],
    breaks:
      'what a request has brought can be kept for its grace alone, until somebody comes for it or it is asked for again'
  },
  {
    fault: 'keeping a lease for its grace prolongs it',
    file: 'lease-transitions',
    edits: [[' && expiresAt < lease.expiresAt)', ')']],
    breaks:
      'what a request has brought can be kept for its grace alone, until somebody comes for it or it is asked for again'
  },
  {
    fault: 'coming back does not change the grace',
    file: 'lease-request',
    edits: [["this.acquisition.graceMs = requireDuration('graceMs', graceMs);", ';']],
    breaks: 'whoever comes back for a kept place can ask for another grace, and else has the one before'
  },
  {
    fault: 'whoever comes back without a word has no grace',
    file: 'lease-request',
    edits: [
      [
        "if (graceMs !== undefined)\n            this.acquisition.graceMs = requireDuration('graceMs', graceMs);",
        "this.acquisition.graceMs = requireDuration('graceMs', graceMs ?? 0);"
      ]
    ],
    breaks: 'whoever comes back for a kept place can ask for another grace, and else has the one before'
  },
  {
    fault: 'keeping a lease for its grace revives it',
    file: 'lease-transitions',
    edits: [["if (lease.state === 'held' && lease.hasOneClaim", 'if (lease.hasOneClaim']],
    breaks:
      'what a request has brought can be kept for its grace alone, until somebody comes for it or it is asked for again'
  },
  {
    fault: 'what another request was promised is kept for the grace alone',
    file: 'lease-transitions',
    edits: [['lease.hasOneClaim && ', '']],
    breaks:
      'what a request has brought can be kept for its grace alone, until somebody comes for it or it is asked for again'
  },
  {
    fault: 'what an undone request has said of a lease stays',
    file: 'lease-transitions',
    edits: [['Object.assign(lease, request.replaced);', ';']],
    breaks: 'undoing a request takes back what it said of a lease, unless the agent has said something else since'
  },
  {
    fault: 'undoing takes back what was said since',
    file: 'lease-transitions',
    edits: [['if (request.replaced?.renewals === lease.renewals - 1)', 'if (request)']],
    breaks: 'undoing a request takes back what it said of a lease, unless the agent has said something else since'
  },
  {
    fault: 'a lease may end before the call that brings it',
    file: 'lease-request',
    edits: [['this.#table.leases.prolong(this.#lease, ms);', ';']],
    breaks: 'a lease lasts as long as the call that brings it, and its time begins when its agent is told'
  },
  {
    fault: 'the time of a lease begins at its grant',
    file: 'lease-request',
    edits: [['this.#table.leases.renew(lease, lease.ttlMs);', ';']],
    breaks: 'a lease lasts as long as the call that brings it, and its time begins when its agent is told'
  },
  {
    fault: 'the beginning of a lease shortens what was promised',
    file: 'lease-request',
    edits: [['lease?.hasOneClaim === true', 'lease !== undefined']],
    breaks: 'a lease lasts as long as the call that brings it, and its time begins when its agent is told'
  },
  {
    fault: 'requests outlive their connection',
    file: 'lease-manager',
    edits: [
      [
        "for (const request of requests)\n            this.#table.fail(request, cancelled(request, 'its connection has ended'));",
        ''
      ]
    ],
    breaks: 'with a connection the requests for leases end that were made over it, parked or not'
  },
  {
    fault: 'a connection ends the requests of all',
    file: 'lease-manager',
    edits: [['.filter((request) => request.connection === connection)', '']],
    breaks: 'with a connection the requests for leases end that were made over it, parked or not'
  }
]
