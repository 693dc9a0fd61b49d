// What is promised, the test files that show it, and for each how its check is seen to fail.

/** An older version is overwritten as if it were the current one. */
const noVersionCheck = {
  fault: 'a change of an older version is made as if that were the current one',
  edits: [['if (current.hash === expectedHash) return void 0;', 'return void 0;']]
}

/**
 * Each claim has
 * - `file`, below test/. All of its tests must pass.
 * - `shows`: what that means.
 * - `control`, one of
 *   - `tests`: titles of tests in which the same check runs where it must fail; such a test passes if the check fails. They are in
 *     `file`, or in `in`.
 *   - `fault` and `edits`: what is wrong with a copy of the program in which each first text is replaced by the second. The tests of
 *     `file` must fail there, with a message that matches `found`.
 */
export const claims = [
  {
    claim: 'locks keep their rules',
    file: 'engine/locks/lock-manager',
    shows:
      'fair queues, shared and exclusive locks, leases, deadlocks: each property, and random schedules and histories',
    control: {
      fault: 'readers are admitted beside a writer',
      edits: [
        [
          'this.holders.size === 0 || mode === "shared" && this.#exclusive === 0',
          'this.holders.size === 0 || mode === "shared"'
        ]
      ],
      found: /a writer holds alone; readers hold together/
    }
  },
  {
    claim: 'a server does what the model says',
    file: 'harness/programs/programs',
    shows: 'random programs of several agents, each step and each file compared with a model',
    control: { ...noVersionCheck, found: /Counterexample|Property failed/ }
  },
  {
    claim: 'transactions have one order',
    file: 'harness/transactions/campaign',
    shows: '20 agents, transactions over ten files: one order explains all that was seen and left',
    control: { tests: /^the checker says so if there is none$/ }
  },
  {
    claim: 'each change is made once',
    file: 'tree/persistence/named-once',
    shows: 'named changes are repeated at once through three processes whose authority is killed',
    control: {
      fault: 'what a name was answered before is forgotten',
      edits: [['const recorded = receipt.recorded();', 'const recorded = void 0;']],
      found: /is \d+ times in/
    }
  },
  {
    claim: 'a kill loses nothing acknowledged',
    file: 'tree/persistence/kills',
    shows: 'kill -9 under load: files, leases, tokens and old versions are there after each restart',
    control: {
      fault: 'records of the journal stay in the process',
      edits: [['size += writeAll(fd, records.map((json) => writer.line(json)).join(""), size);', '']],
      found: /Broken/
    }
  },
  {
    claim: 'a power cut leaves all or none',
    file: 'operations/transactions/power',
    shows:
      'a file system of its own is cut off in the middle of a transaction: all of it or nothing, acknowledged or not',
    control: { tests: /^without the sync of the record/ }
  },
  {
    claim: 'no call leaves the tree',
    file: 'engine/files/swapped-folders',
    shows: 'a program swaps a folder for a link to the outside as fast as it can, under calls of every kind',
    control: {
      fault: 'folders are opened through links',
      edits: [
        [
          '(node_fs.constants.O_DIRECTORY ?? 0) | (node_fs.constants.O_NOFOLLOW ?? 0)',
          '(node_fs.constants.O_DIRECTORY ?? 0)'
        ]
      ],
      found: /nothing outside was/
    }
  },
  {
    claim: 'contending agents meet no violation',
    file: 'harness/contenders/contenders',
    shows:
      'agents that contend for leases and files, some of them killed: holders, order, ends and files, from what each saw',
    control: { in: 'harness/contenders/checks', tests: /^found: / }
  },
  {
    claim: 'a hand-over tells the truth',
    file: 'tree/authority/seeded-faults',
    shows: 'processes of one tree leave in good order while agents hold and wait: each answer is true',
    control: { tests: /^the checker finds that / }
  },
  {
    claim: 'a paused host overwrites nothing',
    file: 'tree/coordinator/fencing',
    shows: 'the host that serves a tree is stopped in the middle of a change and goes on when another one serves it',
    control: { tests: /^without the fence/ }
  },
  {
    claim: 'each file is linearizable',
    file: 'tree/coordinator/linear',
    shows: '30 clients over three hosts that are killed: each file behaves as one copy, changed by one call at a time',
    control: { ...noVersionCheck, found: /no act can come next/ },
    writesHistories: true
  }
]
