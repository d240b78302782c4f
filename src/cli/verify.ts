import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { connect, serviceRole } from '../db/connect.ts'
import { checkFigures, type FigureCheck, type FigureDifference, recountFigures } from '../domain/figures/check.ts'
import { withDatabase } from './database.ts'
import { jsonOption, printResult } from './output.ts'
import { shellCommand } from './shell-command.ts'

/** `verify`: compares the figures of dashboards with the records. */
export const verifyCommand = new Command('verify')
  .description(
    'Count all records and compare the figures that dashboards read. Exits with 1 when they differ, and while they are being counted. The service and its ' +
      'writers may run.',
  )
  .option('--repair', 'let the service count the figures anew when they differ; until then it shows none', false)
  .addOption(jsonOption())
  .action(async ({ repair, json }: { repair: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    await withDatabase(config, async ({ address }) => {
      const { startupParameters } = config
      // Counting millions of records takes longer than other statements may.
      const pool = connect(address, { max: 1, statementTimeoutMs: 0, startupParameters, role: serviceRole })
      try {
        const { asOf, differences } = await checkFigures(pool)
        const recounted = repair && differences.length > 0
        if (recounted) await recountFigures(pool)
        printResult(
          json,
          { asOf, differences, recounted },
          [...differences.map(describe), advice({ asOf, differences }, recounted)].join('\n'),
        )
        if (asOf === null || (differences.length > 0 && !repair)) process.exitCode = 1
      } finally {
        await pool.end()
      }
    })
  })

/** Returns the next step for a person. */
function advice({ asOf, differences }: FigureCheck, recounted: boolean): string {
  if (recounted) return 'The service counts all figures anew now. Run verify again when it shows figures.'
  if (asOf === null) {
    return 'The service is counting the figures. Run verify again when it has: figures cannot be compared before.'
  }
  return differences.length > 0
    ? `To count them anew: ${shellCommand('verify --repair')}`
    : `The figures of ${asOf} agree with the records.`
}

const describe = ({ kind, of, rows, tenants, firstTenant }: FigureDifference): string =>
  `${kind} (${of}): ${rows} row${rows === 1 ? '' : 's'} of ${tenants} tenant${tenants === 1 ? '' : 's'} differ, ` +
  `first tenant ${firstTenant}`
