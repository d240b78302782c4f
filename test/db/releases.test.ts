/**
 * Checks the promises of a release. Its migrations do not change, and the next release keeps the objects that the
 * former service calls and reads.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { releases } from '../../src/db/migration/releases.ts'
import { version } from '../../src/version.ts'
import { createDatabase } from '../support/database.ts'
import { digestsUpTo, readDump, readPromises } from '../upgrade/dumps.ts'

test('the version in package.json is the newest release, and the changelog has an entry for it', () => {
  expect(releases.at(-1)?.version).toBe(version)
  expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(`\n## ${version} — `)
})

test.each(releases)('the migrations of $version are the same as when they were released', ({ version, migration }) => {
  const advice = `A migration of ${version} never changes: git checkout v${version} -- sql/<file>, then write a new one`
  expect(digestsUpTo(migration), advice).toEqual(readDump(version).migrations)
})

test('the service of the newest release can still call and read all objects that it could', async () => {
  const { platform } = await createDatabase()
  const present = new Set(await readPromises(platform, true))
  const { promises } = readDump(version)
  expect(promises.length).toBeGreaterThan(100)
  const advice = `The service of ${version} calls and reads these while it is upgraded: give them the comment 'Former.', and drop them one release later`
  expect(
    promises.filter(promise => !present.has(promise)),
    advice,
  ).toEqual([])
})
