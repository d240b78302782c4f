import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { connect, serviceRole } from '../db/connect.ts'
import { checkFigures, type FigureDifference, repairFigures } from '../domain/figures/check.ts'
import { findRecordProblems, type RecordProblem } from '../projection/check.ts'
import { withDatabase } from './database.ts'
import { counted, jsonOption, printResult } from './output.ts'
import { shellCommand } from './shell-command.ts'

export const verifyCommand = new Command('verify')
  .description(
    'Compare all records with their sources, and the figures of dashboards with the records. Exits with 1 when they differ, ' +
      'when rows are rejected, and during the first fill. The service and writers may run.',
  )
  .option('--repair', 'let the service write the records that differ, and correct the figures', false)
  .addOption(jsonOption())
  .action(async ({ repair, json }: { repair: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    await withDatabase(config, async ({ address }) => {
      const { startupParameters } = config
      // Comparing millions of records takes longer than other statements may.
      const pool = connect(address, { max: 1, statementTimeoutMs: 0, startupParameters, role: serviceRole })
      try {
        const { asOf, differences: figures } = await checkFigures(pool)
        const records = await findRecordProblems(pool, repair)
        if (repair && figures.length > 0) await repairFigures(pool)
        const found = { asOf, records, figures }
        const lines = [...records.map(describeRecords), ...figures.map(describeFigures), advice(found, repair)]
        printResult(json, { ...found, repaired: repair }, lines.join('\n'))
        const isWrong = ({ reason }: RecordProblem) => !repair || reason !== null
        if (asOf === null || records.some(isWrong) || (figures.length > 0 && !repair)) process.exitCode = 1
      } finally {
        await pool.end()
      }
    })
  })

interface Found {
  asOf: string | null
  records: RecordProblem[]
  figures: FigureDifference[]
}

/** Returns the next step for a person. */
function advice({ asOf, records, figures }: Found, repair: boolean): string {
  if (asOf === null) return 'The service writes the records for the first time. Run verify again when it has.'
  const differs = figures.length > 0 || records.some(({ reason }) => reason === null)
  if (differs && repair) return 'The service writes these records with its next steps. Figures are corrected.'
  if (differs) return `To correct them: ${shellCommand('verify --repair')}`
  return records.length > 0
    ? 'All other records that were compared agree with their sources.'
    : `The records and figures of ${asOf} agree with the sources.`
}

const describeFigures = ({ kind, rows, tenants, firstTenant }: FigureDifference): string =>
  `figures ${kind}: ${counted(rows, 'row')} of ${counted(tenants, 'tenant')} differ, first tenant ${firstTenant}`

function describeRecords({ record, reason, keys, firstKey, differences }: RecordProblem): string {
  if (firstKey === null) return `${record}: not compared: ${reason}`
  const subject = `${record}: ${counted(keys, 'key')}`
  if (reason !== null) return `${subject} rejected: ${reason}, first key ${firstKey}`
  const lines = differences.map(({ key, columns, reason }) => `\n  ${record} ${key}: ${reason ?? columns.join(', ')}`)
  return `${subject} differ from the source:${lines.join('')}`
}
