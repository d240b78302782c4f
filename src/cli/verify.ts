import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { connect, serviceRole } from '../db/connect.ts'
import { type FigureDifference, findFigureDifferences, repairFigures } from '../domain/figure-check.ts'
import { withDatabase } from './database.ts'
import { jsonOption, printResult } from './output.ts'
import { shellCommand } from './shell-command.ts'

/** `verify`: compares the figures of dashboards with the records. */
export const verifyCommand = new Command('verify')
  .description(
    'Count all records and compare the figures that dashboards read. Exits with 1 when they differ. The service and its ' +
      'writers may run.',
  )
  .option('--repair', 'correct the figures that differ', false)
  .addOption(jsonOption())
  .action(async ({ repair, json }: { repair: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    await withDatabase(config, async ({ address }) => {
      const { startupParameters } = config
      // Counting millions of records takes longer than other statements may.
      const pool = connect(address, { max: 1, statementTimeoutMs: 0, startupParameters, role: serviceRole })
      try {
        const differences = await findFigureDifferences(pool)
        const corrected = repair && differences.length > 0 ? await repairFigures(pool) : 0
        printResult(
          json,
          { differences, corrected },
          [...differences.map(describe), advice(differences, corrected)].join('\n'),
        )
        if (differences.length > 0 && !repair) process.exitCode = 1
      } finally {
        await pool.end()
      }
    })
  })

/** Returns what a person does next. @param corrected how many rows were corrected */
function advice(differences: readonly FigureDifference[], corrected: number): string {
  if (differences.length === 0) return 'The figures agree with the records.'
  return corrected > 0 ? `Corrected ${corrected} rows.` : `To correct them: ${shellCommand('verify --repair')}`
}

const describe = ({ kind, withDescendants, rows, tenants, firstTenant }: FigureDifference): string =>
  `${kind}${withDescendants ? ', with the tenants below' : ''}: ` +
  `${rows} row${rows === 1 ? '' : 's'} of ${tenants} tenant${tenants === 1 ? '' : 's'} differ, first tenant ${firstTenant}`
