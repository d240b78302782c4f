import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { migrate } from '../db/migrate.ts'
import { withUnmigratedDatabase } from './database.ts'

/** `migrate`: applies the missing migrations. */
export const migrateCommand = new Command('migrate')
  .description('Apply the migrations that the database lacks.')
  .action(async () => {
    const applied = await withUnmigratedDatabase(readConfig(process.env), ({ owner }) => migrate(owner))
    for (const file of applied) console.log(`applied ${file}`)
    if (applied.length === 0) console.log('The database is up to date.')
  })
