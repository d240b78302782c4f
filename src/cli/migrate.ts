import { Command, Option } from 'commander'
import { defaultLockWait, migrate, type Upgrade } from '../db/migration/migrate.ts'
import { readMigrations } from '../db/migration/migrations.ts'
import { checkUpgrade } from '../db/migration/upgrade-check.ts'
import { describeUpgrade } from '../db/migration/upgrade-statements.ts'
import type { Pool } from '../db/sql.ts'
import { describeReason } from '../reasons.ts'
import { withUnmigratedDatabase } from './database/database.ts'
import { jsonOption, onBlocked, printResult, printTable, readSeconds } from './terminal/output.ts'

interface MigrateOptions {
  wait: number
  json: boolean
  check?: true
  status?: true
  dryRun?: true
}

export const migrateCommand = new Command('migrate')
  .description('Apply the migrations that the database lacks.')
  .option('--wait <seconds>', 'how long to wait for transactions that hold a lock', readSeconds, defaultLockWait)
  .option('--check', 'change nothing; look for problems that would stop it, and exit with 1 for an error')
  .addOption(new Option('--status', 'change nothing; print when each migration was applied').conflicts('check'))
  .addOption(
    new Option('--dry-run', 'change nothing; print the SQL, which psql can run').conflicts(['check', 'status']),
  )
  .addOption(jsonOption())
  .action(async ({ check, status, dryRun, wait, json }: MigrateOptions) => {
    await withUnmigratedDatabase(async ({ owner }) => {
      if (check) await printCheck(owner, json)
      else if (status) await printStatus(owner, json)
      else if (dryRun) await printSql(owner, json)
      else await apply(owner, wait, json)
    })
  })

async function apply(owner: Pool, wait: number, json: boolean): Promise<void> {
  const upgrade = await migrate(owner, { lockWait: wait, onBlocked })
  printResult(json, upgrade, describe(upgrade, 'applied', 'made') || upToDate)
}

/** The maximum number of functions that are named. */
const maxNamed = 10

function describe({ applied, made }: Upgrade, appliedWord: string, madeWord: string): string {
  const definitions =
    made.length > maxNamed
      ? [`${madeWord} ${made.length} functions and views`]
      : made.map(file => `${madeWord} functions/${file}`)
  return [...applied.map(file => `${appliedWord} ${file}`), ...definitions].join('\n')
}

const upToDate = 'The database is up to date.'

async function printSql(owner: Pool, json: boolean): Promise<void> {
  const statements = await describeUpgrade(owner)
  printResult(json, { statements }, statements.join('\n\n') || `-- ${upToDate}`)
}

async function printStatus(owner: Pool, json: boolean): Promise<void> {
  const { files, newer } = await readMigrations(owner)
  if (json) return printResult(true, { files, newer }, '')
  const known = files.map(({ file, appliedAt }) => ({ file, applied: appliedAt ?? 'missing' }))
  printTable([...known, ...newer.map(file => ({ file, applied: 'by a newer version' }))])
}

async function printCheck(owner: Pool, json: boolean): Promise<void> {
  const found = await checkUpgrade(owner)
  const { release, releases, stops, missing, made, locks, indexes, findings } = found
  const lines = [
    describe({ applied: missing, made }, 'would apply', 'would make') || upToDate,
    ...(locks.length > 0 ? [`Locks, each tried for 100 ms at a time: share row exclusive on ${locks.join(', ')}`] : []),
    ...(releases.length > 0 ? [`Releases: from ${release ?? 'none'} to ${releases.join(', ')}`] : []),
    ...(stops.length > 0 ? [`Releases that must run before the next: ${stops.join(', ')}`] : []),
    ...(indexes.count > 0
      ? [`Indexes: ${indexes.count}, about ${Math.ceil(indexes.bytes / 1e6)} MB and ${indexes.seconds} s`]
      : []),
    ...findings.map(finding => `${finding.level}: ${describeReason(finding)}`),
  ]
  printResult(json, found, lines.join('\n'))
  if (findings.some(({ level }) => level === 'error')) process.exitCode = 1
}
