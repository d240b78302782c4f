/**
 * Checks deploy/systemd with systemd-analyze, which needs no running systemd, and compares the units with the limits of
 * the service.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { createDirectory } from '../support/directory.ts'

const folder = join(import.meta.dirname, '../../deploy/systemd')
const files = readdirSync(folder)
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

/** A directory with the units and the program that they start. */
const unitsDirectory = createDirectory()
const program = 'node_modules/.bin/voucher-gateway'
mkdirSync(join(unitsDirectory, program, '..'), { recursive: true })
writeFileSync(join(unitsDirectory, program), '#!/bin/sh\n')
chmodSync(join(unitsDirectory, program), 0o755)

/** Runs systemd-analyze for a unit. @returns the exit code, and the lines of output about this unit */
function analyze(file: string, text: string, ...args: string[]) {
  const path = join(unitsDirectory, file)
  writeFileSync(path, text.replaceAll('/opt/voucher-gateway', unitsDirectory))
  const { status, stderr, stdout } = spawnSync('systemd-analyze', [...args, path], { encoding: 'utf8' })
  return { status, found: `${stdout}${stderr}`.split('\n').filter(line => line.includes(file)) }
}

const readValues = (unit: string, name: string) =>
  [...unit.matchAll(RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

test.each(files)('systemd accepts %s, and rates its exposure with at most 2 of 10', file => {
  expect(analyze(file, read(file), 'verify')).toEqual({ status: 0, found: [] })
  expect(analyze(file, read(file), 'security', '--offline=yes', '--threshold=20').status).toBe(0)
})

test('both units have the same restrictions', () => {
  const restrictionsOf = (file: string) => /^DynamicUser[\s\S]*?(?=\n\n|\n*$)/m.exec(read(file))?.[0].trim()
  expect(restrictionsOf('voucher-gateway-migrate.service')).toBe(restrictionsOf('voucher-gateway.service'))
})

test('systemd restarts the service, and the limits of the unit are higher than the limits of the service', () => {
  const unit = read('voucher-gateway.service')
  expect(readValues(unit, 'Restart')).toEqual(['always'])
  const environment = Object.fromEntries(
    readValues(unit, 'Environment').flatMap(all => all.split(' ').map(each => each.split(/=(.*)/s))),
  )
  const config = readConfig({ ...environment, DATABASE_URL: 'postgres://gateway@db/gateway' })
  expect(config.graphiql).toBe(false)
  const heap = Number(/--max-old-space-size=(\d+)/.exec(environment.NODE_OPTIONS)?.[1])
  expect(Number.parseInt(`${readValues(unit, 'MemoryMax')}`, 10)).toBeGreaterThanOrEqual(2 * heap)
  expect(Number(readValues(unit, 'TimeoutStopSec'))).toBeGreaterThan(config.shutdownDelay + 10)
  expect(Number(readValues(unit, 'LimitNOFILE'))).toBeGreaterThan(8192 + config.maxRequests)
})
