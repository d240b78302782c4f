import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { connect, serviceRole } from '../db/connect.ts'
import { type FigureDifference, findFigureDifferences, repairFigures } from '../domain/figure-check.ts'
import { withDatabase } from './database.ts'
import { shellCommand } from './shell-command.ts'

/** `verify`: compares the figures of dashboards with the records. */
export const verifyCommand = new Command('verify')
  .description(
    'Count all records and compare the figures that dashboards read. Exits with 1 when they differ. The service and its ' +
      'writers may run.',
  )
  .option('--repair', 'correct the figures that differ', false)
  .action(async ({ repair }: { repair: boolean }) => {
    const config = readConfig(process.env)
    await withDatabase(config, async ({ address }) => {
      const { startupParameters } = config
      // Counting millions of records takes longer than other statements may.
      const pool = connect(address, { max: 1, statementTimeoutMs: 0, startupParameters, role: serviceRole })
      try {
        const differences = await findFigureDifferences(pool)
        for (const difference of differences) console.log(describe(difference))
        if (differences.length === 0) console.log('The figures agree with the records.')
        else if (repair) console.log(`Corrected ${await repairFigures(pool)} rows.`)
        else {
          console.log(`To correct them: ${shellCommand('verify --repair')}`)
          process.exitCode = 1
        }
      } finally {
        await pool.end()
      }
    })
  })

const describe = ({ kind, withDescendants, rows, tenants, firstTenant }: FigureDifference): string =>
  `${kind}${withDescendants ? ', with the tenants below' : ''}: ` +
  `${rows} row${rows === 1 ? '' : 's'} of ${tenants} tenant${tenants === 1 ? '' : 's'} differ, first tenant ${firstTenant}`
