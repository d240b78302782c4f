import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { type Blocker, describeBlockers } from '../db/blockers.ts'
import { defaultLockWait, migrate } from '../db/migrate.ts'
import { withUnmigratedDatabase } from './database.ts'
import { jsonOption, printResult, readSeconds } from './output.ts'

export const migrateCommand = new Command('migrate')
  .description('Apply the migrations that the database lacks.')
  .option('--wait <seconds>', 'how long to wait for transactions that hold a lock', readSeconds, defaultLockWait)
  .addOption(jsonOption())
  .action(async ({ wait, json }: { wait: number; json: boolean }) => {
    const onBlocked = (blockers: Blocker[]) =>
      console.error(`Waiting for a lock that is held by ${describeBlockers(blockers)}. Others go first meanwhile.`)
    const applied = await withUnmigratedDatabase(readConfig(process.env), ({ owner }) =>
      migrate(owner, { lockWait: wait, onBlocked }),
    )
    const lines = applied.length > 0 ? applied.map(file => `applied ${file}`) : ['The database is up to date.']
    printResult(json, { applied }, lines.join('\n'))
  })
