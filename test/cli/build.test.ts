import { spawnSync } from 'node:child_process'
import { appendFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'
import { copySources } from '../support/source-copy.ts'

const { root, write, runScript } = copySources()

/** Node alone, without the compilers. */
const bare = createDirectory()
symlinkSync(process.execPath, join(bare, 'node'))
const environment = { PATH: `${bare}:/usr/bin:/bin` }

/** Returns whether a build ends well without a compiler: it has nothing to do. */
const isBuilt = () => spawnSync('tools/build', ['charts'], { cwd: root, env: environment }).status === 0

test.each([
  ['is new', () => {}],
  ['has a changed input', () => appendFileSync(join(root, 'packages/charts/src/index.ts'), '\n')],
  ['has a new input', () => write('packages/charts/src/new.ts', '')],
  ['lost an input', () => rmSync(join(root, 'packages/charts/src/new.ts'))],
  ['has changed settings', () => appendFileSync(join(root, 'tsconfig.json'), '\n')],
  ['lost its output', () => rmSync(join(root, 'dist/charts'), { recursive: true })],
])('a part that %s is built, again after a build that failed, and then not again', async (_, change) => {
  change()
  expect([isBuilt(), isBuilt()]).toEqual([false, false])
  expect(await runScript('build', '--', 'charts')).toEqual({ code: 0, printed: '' })
  expect(isBuilt()).toBe(true)
})

test('npm start reports a port in use before it builds', async () => {
  const port = await listen(createServer())
  const start = (args: string[], PORT: string) =>
    spawnSync('tools/start', args, { cwd: root, env: { ...environment, PORT }, encoding: 'utf8' })
  for (const { status, stderr } of [start([], `${port}`), start(['--port', `${port}`], '0')]) {
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^.* port \d+\. .*: npm start -- --port \d+\n$/)])
  }
})
