// Real programs save a file between an agent's read and its update: contention with the exact difference, watched or not.
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import t from 'tap'
import { hashOf } from '../../fixtures/tree.ts'
import { makeScene, type Scene } from './fixtures/scene.ts'

const base = 'one\ntwo\nthree\n'
const saved = 'one\nTWO by hand\nthree\n'

/** Each leaves `saved` in the file `f`. */
const saves: readonly {
  readonly name: string
  readonly program?: string
  readonly prepare?: (scene: Scene) => void
  readonly save: (scene: Scene) => void
}[] = [
  {
    name: 'vim, which keeps the file and copies the old one (backupcopy=yes)',
    program: 'vim',
    save: (scene) => vim(scene, 'set backupcopy=yes backup')
  },
  {
    name: 'vim, which moves the old file aside and writes a new one (backupcopy=no)',
    program: 'vim',
    save: (scene) => vim(scene, 'set backupcopy=no backup')
  },
  {
    name: 'ed',
    program: 'ed',
    save: ({ tree }) => {
      const input = '2s/.*/TWO by hand/\nw\nq\n'
      spawnSync('ed', ['-s', 'f'], { cwd: tree.root, input })
    }
  },
  { name: 'sed -i', program: 'sed', save: ({ run }) => run('sed', '-i', 's/^two$/TWO by hand/', 'f') },
  {
    name: 'VS Code, which empties the file and writes it anew',
    save: ({ tree }) => {
      const fd = openSync(tree.path('f'), 'r+')
      ftruncateSync(fd)
      writeSync(fd, saved, 0)
      fsyncSync(fd)
      closeSync(fd)
    }
  },
  {
    name: 'a program that writes beside and renames',
    save: ({ tree }) => {
      writeFileSync(tree.path('.f.tmp'), saved)
      renameSync(tree.path('.f.tmp'), tree.path('f'))
    }
  },
  {
    name: 'a program that renames the old file and writes a new one',
    save: ({ tree }) => {
      renameSync(tree.path('f'), tree.path('f~'))
      writeFileSync(tree.path('f'), saved)
    }
  },
  {
    name: 'a program that copies over it',
    save: ({ tree }) => {
      writeFileSync(tree.path('other'), saved)
      copyFileSync(tree.path('other'), tree.path('f'))
      rmSync(tree.path('other'))
    }
  },
  {
    name: 'git checkout of a branch',
    program: 'git',
    prepare: (scene) => {
      commitBoth(scene)
      git(scene, 'checkout', '-q', 'first')
    },
    save: (scene) => git(scene, 'checkout', '-q', 'second')
  },
  {
    name: 'git stash pop',
    program: 'git',
    prepare: (scene) => {
      git(scene, 'init', '-q')
      commit(scene, 'first')
      scene.tree.write('f', saved)
      git(scene, 'stash', '-q')
    },
    save: (scene) => git(scene, 'stash', 'pop', '-q')
  }
]

for (const isWatched of [true, false]) {
  for (const { name, program, prepare, save } of saves) {
    const title = `${name} saves between read and update, ${isWatched ? 'watched' : 'not watched'}`
    const skip = program !== undefined && spawnSync(program, ['--version']).error !== undefined && `no ${program} here`
    t.test(title, { skip }, async (t) => {
      const scene = await makeScene(t, { f: base }, { enabled: isWatched })
      prepare?.(scene)
      t.equal(scene.tree.read('f'), base)
      const { hash } = await scene.ann.call('async_read', { path: 'f' })
      const noticed = isWatched ? scene.until((change) => change.hash === hashOf(saved)) : undefined
      save(scene)
      t.equal(scene.tree.read('f'), saved, 'it was saved')
      if (noticed !== undefined) t.match(await noticed, { agentId: 'external', hash: hashOf(saved) })
      const answer = await scene.ann.call('async_update', {
        path: 'f',
        expected_hash: hash as string,
        content: 'mine\n',
        diff_format: 'unified'
      })
      t.match(answer, {
        status: 'contention',
        current_hash: hashOf(saved),
        modified_by: [{ agent_id: 'external', operation: 'external' }]
      })
      const [, , ...hunk] = (answer['diff'] as { content: string }).content.split('\n')
      t.strictSame(hunk, ['@@ -1,3 +1,3 @@', ' one', '-two', '+TWO by hand', ' three', ''])
      t.equal(scene.tree.read('f'), saved, 'nothing was written')
    })
  }
}

function vim({ run }: Scene, settings: string): void {
  run('vim', '-u', 'NONE', '-n', '-es', '-c', settings, '-c', '2s/.*/TWO by hand/', '-c', 'wq', 'f')
}

function commitBoth(scene: Scene): void {
  git(scene, 'init', '-q')
  commit(scene, 'first')
  git(scene, 'branch', 'first')
  scene.tree.write('f', saved)
  commit(scene, 'second')
  git(scene, 'branch', 'second')
}

function commit(scene: Scene, message: string): void {
  git(scene, 'add', 'f')
  git(scene, 'commit', '-qm', message)
}

function git({ run }: Scene, ...args: string[]): void {
  run('git', '-c', 'user.name=ann', '-c', 'user.email=ann@example.org', '-c', 'commit.gpgsign=false', ...args)
}
