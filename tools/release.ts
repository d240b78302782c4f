/**
 * Makes the changes for the commit of a release: `npm run release -- 1.1.0`. Until the tag of the release is pushed,
 * the command can be run again after each change. Gives the packages and the texts that name their files the version,
 * writes the heading of CHANGELOG.md, the entry of `sql/releases.json`, and the dump of test/upgrade.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { readMigrationFiles } from '../src/db/migration/migrations.ts'
import { releases } from '../src/db/migration/releases.ts'
import { version as former } from '../src/version.ts'

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('Give the version, for example 1.1.0.')
const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' })

/**
 * Matches the former version after the name of one of our packages: in package.json, in the lock file, and in the names
 * of files and images.
 */
const formerVersionPattern = new RegExp(
  `((?:voucher-gateway(?:[-/]\\w+)*|<repository>)(?:[-:]|": "|",\\n +"version": "))${former.replaceAll('.', '\\.')}\\b`,
  'g',
)
for (const file of run('git', 'ls-files', '*.json', '*.md', '*.yaml').trim().split('\n')) {
  const text = readFileSync(file, 'utf8')
  const changed = file === 'CHANGELOG.md' ? text : text.replaceAll(formerVersionPattern, `$1${version}`)
  if (changed !== text) writeFileSync(file, changed)
}

const changelog = readFileSync('CHANGELOG.md', 'utf8')
const heading = new RegExp(`^## (Unreleased|${version.replaceAll('.', '\\.')} — .*)$`, 'm')
if (!heading.test(changelog)) throw new Error('CHANGELOG.md has no heading "## Unreleased".')
writeFileSync('CHANGELOG.md', changelog.replace(heading, `## ${version} — ${new Date().toISOString().slice(0, 10)}`))

const migration = readMigrationFiles().at(-1)?.version ?? 0
const isStop = releases.find(release => release.version === version)?.isStop ?? false
const otherReleases = releases.filter(release => release.version !== version)
writeFileSync('sql/releases.json', JSON.stringify([...otherReleases, { version, migration, isStop }]))
run('npx', 'biome', 'format', '--write', 'sql/releases.json')
run('npm', 'run', '-s', 'tsx', '--', 'test/upgrade/make-dump.ts', version)
