import { Command } from 'commander'
import { exportRejected, readRejected } from '../../adoption/rejected.ts'
import { withDatabase } from '../database/database.ts'
import { printTable } from '../terminal/output.ts'

export const rejectedCommand = new Command('rejected')
  .description('List all keys whose rows v1 cannot show, with the reason, and since when.')
  .option('--csv', 'print CSV', false)
  .action(({ csv }: { csv: boolean }) =>
    withDatabase(async ({ owner }) => {
      if (csv) return exportRejected(owner, process.stdout)
      const rejected = await readRejected(owner)
      if (rejected.length === 0) console.log('No key is rejected.')
      else printTable(rejected.map(({ record, key, since, reason }) => ({ record, key, since, reason })))
    }),
  )
