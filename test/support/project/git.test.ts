// What get_server_info says of real repositories, and that looking at one runs nothing of what its files name.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { agentOperations } from '../../../src/operations/index.ts'
import { readGit } from '../../../src/support/project/git.ts'
import { nameOfRemote, toShownRemote } from '../../../src/support/project/remote.ts'
import { findServer } from '../../../src/tree/state/state-file.ts'
import { projectName } from '../../../src/support/project/name.ts'
import { connect, transports, type Answer } from '../../fixtures/clients.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeCommitted, makeRepository } from '../../fixtures/repository.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

const makeCommit = (t: Test) => makeCommitted(t, { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' })

t.test('the server says which project it serves, on every transport alike', async (t) => {
  const { root, git } = makeCommit(t)
  git('remote', 'add', 'origin', 'https://ann:secret@git.example.org/team/notes.git')
  const { url } = await startServer(t, root)
  const answers: Answer[] = []
  for (const transport of transports) {
    const client = await connect(t, transport, url)
    const { server, timestamp, ...rest } = await client.call('get_server_info', {})
    t.match(server, { version: '0.0.0-test', transport: 'http', pid: process.pid, url: `${url}/mcp` })
    t.equal(server.started_at, new Date(performance.timeOrigin).toISOString())
    t.ok(server.uptime_seconds > 0 && Date.parse(timestamp) > 0)
    answers.push(rest)
  }
  const commit = git('rev-parse', 'HEAD')
  for (const answer of answers)
    t.strictSame(answer, {
      status: 'ok',
      project: {
        name: 'notes',
        root,
        state_path: join(root, '.async-crud-mcp'),
        git: {
          remote: 'https://git.example.org/team/notes.git',
          branch: 'main',
          commit,
          commit_short: git('rev-parse', '--short', 'HEAD'),
          status: 'clean'
        }
      },
      capabilities: {
        tools_available: agentOperations.length,
        leases: true,
        persistence: false,
        file_watchers: true,
        merging: true
      }
    })
})

/** Of an object that no pack has yet. */
function objectPath(tree: Tree, hash: string): string {
  return tree.path(join('.git/objects', hash.slice(0, 2), hash.slice(2)))
}

t.test('each process of a tree answers for itself, and the state file has the same name of the project', async (t) => {
  const { root, git } = makeCommit(t)
  git('remote', 'add', 'origin', 'git@git.example.org:team/notes.git')
  const programs = [await startProgram(t, ['--dir', root]), await startProgram(t, ['--dir', root])]
  for (const { url, process } of programs) {
    const { server, project } = await (await connect(t, 'rest', url)).call('get_server_info', {})
    t.match(server, { pid: process.pid, url: `${url}/mcp` })
    t.match(project, { name: 'notes', git: { branch: 'main' } })
  }
  const state = findServer(root)
  t.match(state, { pid: programs[0]?.process.pid, project: { name: 'notes', root } })
})

t.test('the name of a project is found in the configuration of whatever kind of repository', (t) => {
  const { root, git, tree } = makeCommit(t)
  t.equal(projectName(root), basename(root), 'without a remote')
  git('remote', 'add', 'upstream', 'https://git.example.org/team/upstream.git')
  t.equal(projectName(root), 'upstream', 'the only remote')
  git('remote', 'add', 'origin', 'https://ann:pw@git.example.org/team/notes')
  t.equal(projectName(join(root, 'sub')), 'notes', 'a folder in it')
  const other = join(makeTree(t).root, 'other')
  git('worktree', 'add', '--quiet', '-b', 'topic', other)
  t.equal(projectName(other), 'notes', 'a linked worktree')
  git('config', 'remote.origin.url', 'ext::sh -c "cat /srv/secret.git"')
  t.equal(projectName(root), basename(root), 'a command is no address')
  rmSync(tree.path('.git/config'))
  execFileSync('mkfifo', [tree.path('.git/config')])
  t.equal(projectName(root), basename(root), 'a pipe')
  t.end()
})

/** What an agent that may write the tree can do to see another repository; `secret` is one outside of it. */
const disguises: [string, (tree: Tree, secret: string, outside: Tree) => void][] = [
  ['a .git file', (tree, secret) => tree.write('.git', `gitdir: ${secret}\n`)],
  ['a .git link', (tree, secret) => symlinkSync(secret, tree.path('.git'))],
  [
    'a .git file that leads to a link',
    (tree, secret) => {
      symlinkSync(secret, tree.path('inner'))
      tree.write('.git', 'gitdir: inner\n')
    }
  ],
  [
    'a part of a repository that names another as its whole',
    (tree, secret) => {
      for (const name of ['HEAD', 'index']) cpSync(join(secret, name), tree.path(`.git/${name}`))
      tree.write('.git/commondir', `${secret}\n`)
    }
  ],
  [
    'the same in another folder that it may write',
    (tree, secret, outside) => {
      outside.write('made/worktrees/x/HEAD', 'ref: refs/heads/main\n')
      outside.write('made/worktrees/x/gitdir', `${tree.path('.git')}\n`)
      outside.write('made/worktrees/x/commondir', `${secret}\n`)
      tree.write('.git', `gitdir: ${outside.path('made/worktrees/x')}\n`)
    }
  ],
  ...['HEAD', 'config', 'refs', 'refs/heads', 'refs/heads/main', 'objects', 'index', 'info'].map(
    (name): [string, (tree: Tree, secret: string) => void] => [
      `a link in place of ${name}`,
      (tree, secret) => {
        cpSync(secret, tree.path('.git'), { recursive: true })
        rmSync(tree.path(`.git/${name}`), { recursive: true })
        symlinkSync(join(secret, name), tree.path(`.git/${name}`))
      }
    ]
  ),
  [
    'other files',
    (tree, secret) => {
      cpSync(secret, tree.path('.git'), { recursive: true })
      tree.write('.git/config', `[core]\n\trepositoryformatversion = 0\n\tworktree = ${join(secret, '..')}\n`)
    }
  ]
]

for (const [title, disguise] of disguises) {
  t.test(
    `a repository outside of the tree is not shown: ${title}`,
    { skip: process.platform === 'win32' },
    async (t) => {
      const { root, git, tree: outside } = makeCommit(t)
      git('remote', 'add', 'origin', 'https://git.example.org/team/secret.git')
      const tree = makeTree(t)
      disguise(tree, join(root, '.git'), outside)
      const found = realpathSync(tree.root)
      t.equal(await readGit(found), null)
      t.equal(projectName(found), basename(found))
    }
  )
}

t.test('what a configuration includes is not shown, nor followed a link in place of what is ignored', async (t) => {
  const { root, git, tree } = makeCommit(t)
  const other = makeTree(t, {
    config: '[remote "origin"]\n\turl = https://git.example.org/team/secret.git\n',
    words: 'x.txt\n'
  })
  git('config', 'include.path', other.path('config'))
  t.match(await readGit(root), { remote: null, branch: 'main', status: 'clean' })
  t.equal(projectName(root), basename(root))
  tree.write('x.txt', '')
  rmSync(tree.path('.git/info/exclude'), { force: true })
  mkdirSync(tree.path('.git/info'), { recursive: true })
  symlinkSync(other.path('words'), tree.path('.git/info/exclude'))
  t.match(await readGit(root), { status: 'dirty' })
})

t.test('a worktree and a submodule of a repository elsewhere are described: it knows of them', async (t) => {
  const { root, git } = makeCommit(t)
  git('remote', 'add', 'origin', 'https://git.example.org/team/notes.git')
  for (const relative of ['false', 'true']) {
    git('config', 'worktree.useRelativePaths', relative)
    const worktree = join(realpathSync(makeTree(t).root), 'other')
    git('worktree', 'add', '--quiet', '-b', `topic-${relative}`, worktree)
    t.match(await readGit(worktree), { branch: `topic-${relative}`, remote: /notes/, status: 'clean' })
    t.equal(projectName(worktree), 'notes')
    renameSync(worktree, `${worktree}-moved`)
    t.equal(await readGit(`${worktree}-moved`), null, 'moved without a word to Git')
  }
  const whole = makeCommit(t)
  whole.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', root, 'part')
  const part = join(whole.root, 'part')
  t.match(await readGit(part), { branch: 'main', remote: root, status: 'clean' })
  t.equal(projectName(part), basename(root))
  t.match(await readGit(whole.root), { status: 'dirty' }, 'the one that has it')
})

t.test('a folder without a repository is a project all the same', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const { project } = await (await connect(t, 'rest', url)).call('get_server_info', {})
  t.match(project, { name: basename(tree.root), git: null })
})

t.test('changes are seen, of whatever kind', async (t) => {
  const { root, git, tree } = makeCommit(t)
  const status = async () => (await readGit(root))?.status
  t.equal(await status(), 'clean')
  const changes: [string, () => void, () => void][] = [
    ['a changed file', () => tree.write('a.txt', 'two\n'), () => tree.write('a.txt', 'one\n')],
    ['an untracked file', () => tree.write('c.txt', ''), () => rmSync(tree.path('c.txt'))],
    [
      'a missing file',
      () => renameSync(tree.path('a.txt'), tree.path('.git/kept')),
      () => renameSync(tree.path('.git/kept'), tree.path('a.txt'))
    ],
    ['a mode', () => chmodSync(tree.path('a.txt'), 0o755), () => chmodSync(tree.path('a.txt'), 0o644)],
    ['what is staged', () => git('rm', '--quiet', '--cached', 'a.txt'), () => git('reset', '--quiet')]
  ]
  for (const [title, change, undo] of changes) {
    change()
    t.equal(await status(), 'dirty', title)
    undo()
    t.equal(await status(), 'clean', `${title}, undone`)
  }
  tree.write('.git/info/exclude', 'own.txt\n')
  tree.write('own.txt', '')
  t.equal(await status(), 'clean', 'what this clone ignores')
  git('config', 'core.fileMode', 'false')
  chmodSync(tree.path('a.txt'), 0o755)
  t.equal(await status(), 'clean', 'a mode, where modes do not count')
})

t.test('a repository in any state is described', async (t) => {
  const empty = makeRepository(t)
  t.strictSame(await readGit(empty.root), {
    remote: null,
    branch: 'main',
    commit: null,
    commit_short: null,
    status: 'clean'
  })
  const { root, git, tree } = makeCommit(t)
  const commit = git('rev-parse', 'HEAD')
  git('checkout', '--quiet', '--detach')
  t.match(await readGit(root), { branch: null, commit, status: 'clean' }, 'detached')
  git('checkout', '--quiet', 'main')
  t.match(await readGit(join(root, 'sub')), { branch: 'main', commit, status: 'clean' }, 'a folder in it')
  const other = join(makeTree(t).root, 'other')
  git('worktree', 'add', '--quiet', '-b', 'topic', other)
  t.match(await readGit(other), { branch: 'topic', commit, status: 'clean' }, 'a linked worktree')
  git('remote', 'add', 'upstream', 'git@git.example.org:team/notes.git')
  t.match(await readGit(root), { remote: 'git@git.example.org:team/notes.git' }, 'a remote of another name')
  rmSync(objectPath(tree, commit))
  t.match(await readGit(root), { commit, status: null }, 'a broken one')
  rmSync(tree.path('.git/HEAD'))
  t.equal(await readGit(root), null, 'none any more')
})

t.test('looking at a repository runs nothing that its files name', async (t) => {
  const { root, git, tree } = makeCommit(t)
  const trap = `touch ${tree.path('.git/sprung')};`
  tree.write('.gitattributes', '* filter=trap diff=trap\n')
  tree.write('.git/info/attributes', '* filter=trap diff=trap\n')
  git('add', '.gitattributes')
  git('commit', '--quiet', '--message=attributes')
  for (const hook of ['post-index-change', 'reference-transaction', 'fsmonitor-watchman']) {
    tree.write(`.git/hooks/${hook}`, `#!/bin/sh\n${trap}\n`)
    chmodSync(tree.path(`.git/hooks/${hook}`), 0o755)
  }
  const settings = {
    'core.fsmonitor': tree.path('.git/hooks/fsmonitor-watchman'),
    'core.sshCommand': trap,
    'core.pager': trap,
    'core.alternateRefsCommand': trap,
    'pager.status': trap,
    'filter.trap.clean': `${trap} cat`,
    'filter.trap.smudge': `${trap} cat`,
    'filter.trap.process': trap,
    'diff.trap.textconv': trap,
    'diff.external': trap,
    'remote.origin.url': `ext::sh -c ${trap}`,
    'remote.origin.promisor': 'true',
    'remote.origin.partialclonefilter': 'blob:none',
    'protocol.ext.allow': 'always',
    'extensions.partialClone': 'origin',
    'core.repositoryFormatVersion': '1'
  }
  for (const [key, value] of Object.entries(settings)) git('config', key, value)
  rmSync(tree.path('.git/sprung'), { force: true })
  // Same size, another time: Git has to read the file, through its filter.
  tree.write('a.txt', 'ONE\n')
  t.match(await readGit(root), { remote: null, branch: 'main', status: 'dirty' })
  // Git would have to fetch what is missing.
  rmSync(objectPath(tree, git('rev-parse', 'HEAD^{tree}')))
  t.match(await readGit(root), { status: null })
  t.notOk(tree.all().includes('.git/sprung'))
  t.throws(() => git('status'), 'the trap is one: Git as a person calls it fails or')
  t.ok(tree.all().includes('.git/sprung'), 'springs it')
  t.equal(tree.read('a.txt'), 'ONE\n')
})

t.test(
  'something else than a file below .git keeps nobody waiting',
  { skip: process.platform === 'win32' },
  async (t) => {
    const { root, tree } = makeCommit(t)
    rmSync(tree.path('.git/info/exclude'), { force: true })
    mkdirSync(tree.path('.git/info'), { recursive: true })
    execFileSync('mkfifo', [tree.path('.git/info/exclude')])
    t.match(await readGit(root), { status: 'clean' })
    rmSync(tree.path('.git/info/exclude'))
    symlinkSync('/dev/zero', tree.path('.git/info/exclude'))
    t.match(await readGit(root), { status: 'clean' })
  }
)

t.test('a server that a hook of another repository started looks at its own', async (t) => {
  const [own, other] = [makeCommit(t), makeRepository(t)]
  const before = process.env['GIT_DIR']
  process.env['GIT_DIR'] = other.tree.path('.git')
  t.teardown(() => (before === undefined ? delete process.env['GIT_DIR'] : (process.env['GIT_DIR'] = before)))
  t.match(await readGit(own.root), { commit: /^[0-9a-f]{40}$/ })
})

t.test('without Git the answer has none', async (t) => {
  const { root } = makeCommit(t)
  const path = process.env['PATH']
  process.env['PATH'] = '/nowhere'
  const git = await readGit(root)
  process.env['PATH'] = path
  t.equal(git, null)
})

t.test('credentials are not shown, and the name is that of the repository', async (t) => {
  const remotes: [string, string | undefined, string | undefined][] = [
    ['https://token@git.example.org/team/notes.git', 'https://git.example.org/team/notes.git', 'notes'],
    ['https://ann:p@ss:w@git.example.org:8443/notes', 'https://git.example.org:8443/notes', 'notes'],
    ['HTTP://ann:pw@git.example.org/notes.git/?private_token=x#y', 'HTTP://git.example.org/notes.git/', 'notes'],
    ['ssh://git:pw@git.example.org:22/team/notes.git', 'ssh://git@git.example.org:22/team/notes.git', 'notes'],
    ['git@git.example.org:team/notes.git', 'git@git.example.org:team/notes.git', 'notes'],
    ['host:notes', 'host:notes', 'notes'],
    ['../notes.git', '../notes.git', 'notes'],
    ['file:///srv/git/notes.git', 'file:///srv/git/notes.git', 'notes'],
    ['ext::sh -c "curl -u ann:pw example.org"', undefined, undefined],
    ['', '', undefined]
  ]
  for (const [address, shown, name] of remotes) {
    t.equal(toShownRemote(address), shown, address)
    t.equal(nameOfRemote(shown ?? ''), name, address)
  }
})
