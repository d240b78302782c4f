import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { connect, serviceRole } from '../db/connection/connect.ts'
import { liftLimits } from '../db/connection/lift-limits.ts'
import { checkFigures, type FigureDifference, repairFigures } from '../domain/figures/check.ts'
import { findRecordProblems, type RecordProblem } from '../projection/check.ts'
import { findLostReferences, type LostReferences } from '../projection/references.ts'
import { readStepState } from '../projection/step-state.ts'
import { describeReason, type Reason } from '../reasons.ts'
import { withDatabase } from './database/database.ts'
import { formatQuantity, jsonOption, printResult } from './terminal/output.ts'
import { shellCommand } from './terminal/shell-command.ts'

export const verifyCommand = new Command('verify')
  .description(
    'Compare all records with their sources, and the figures of dashboards with the records. Exits with 1 when they differ, ' +
      'when rows are rejected, when all references of a column find nothing, when no step was made for 10 s, and during the first fill. The service and writers may run.',
  )
  .option('--repair', 'let the service write the records that differ, and correct the figures', false)
  .addOption(jsonOption())
  .action(async ({ repair, json }: { repair: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    await withDatabase(async ({ address }) => {
      const { startupParameters } = config
      // Comparing millions of records takes longer than other statements may.
      const pool = connect(address, { max: 1, statementTimeoutMs: 0, startupParameters, role: serviceRole })
      const session = pool.openSession()
      try {
        // The limits are changed in a transaction, so that they apply only to this command, even behind a pooler.
        await session.unsafe('begin /* verify.begin */')
        await liftLimits(session, true)
        const { asOf, differences: figures } = await checkFigures(session)
        const records = await findRecordProblems(session, repair)
        const references = await findLostReferences(session)
        await session.unsafe('commit /* verify.commit */')
        if (repair && figures.length > 0) await repairFigures(pool)
        const reasons = (await readStepState(pool)).reasons.filter(({ code }) => code === 'STEPS_LATE')
        const found = { asOf, records, figures, references, reasons }
        const lines = [
          ...reasons.map(describeReason),
          ...records.map(describeRecords),
          ...figures.map(describeFigures),
          ...references.map(describeReferences),
          advice(found, repair),
        ]
        printResult(json, { ...found, repaired: repair }, lines.join('\n'))
        const isWrong = ({ reason }: RecordProblem) => !repair || reason !== null
        const findsNothing = ({ lost, references }: LostReferences) => lost === references
        const isBad = asOf === null || reasons.length > 0 || records.some(isWrong) || references.some(findsNothing)
        if (isBad || (figures.length > 0 && !repair)) process.exitCode = 1
      } finally {
        await Promise.all([session.end({ timeout: 1 }), pool.end()])
      }
    }, config)
  })

interface VerifyReport {
  asOf: string | null
  reasons: Reason[]
  records: RecordProblem[]
  figures: FigureDifference[]
  references: LostReferences[]
}

function advice({ asOf, records, figures, references }: VerifyReport, repair: boolean): string {
  if (asOf === null) return 'The service writes the records for the first time. Run verify again when it has.'
  const differs = figures.length > 0 || records.some(({ reason }) => reason === null)
  if (differs && repair) return 'The service writes these records with its next steps. Figures are corrected.'
  if (differs) return `To correct them: ${shellCommand('verify --repair')}`
  if (records.some(({ firstKeys }) => firstKeys.length > 0))
    return `All other records that were compared agree with their sources. To list all rejected keys: ${shellCommand('adopt rejected')}`
  if (references.length > 0)
    return 'All records that were compared agree with their sources. Where a column finds nothing, correct the mapping or the rows.'
  return records.length > 0
    ? 'All other records that were compared agree with their sources.'
    : `The records and figures of ${asOf} agree with the sources.`
}

const describeFigures = ({ kind, rows, tenants, firstTenant }: FigureDifference): string =>
  `${kind === 'head' ? 'heads of lists' : `figures ${kind}`}: ${formatQuantity(rows, 'row')} of ${formatQuantity(tenants, 'tenant')} ${rows === 1 ? 'differs' : 'differ'}, first tenant ${firstTenant}`

const describeReferences = ({ record, column, kind, lost, references, firstId }: LostReferences): string =>
  `${record}: ${column} finds no ${kind} in ${lost} of ${formatQuantity(references, 'reference')}, first id ${firstId}`

function describeRecords({ record, reason, keys, firstKeys, differences }: RecordProblem): string {
  if (firstKeys.length === 0) return `${record}: not compared: ${reason}`
  const subject = `${record}: ${formatQuantity(keys, 'key')}`
  if (reason !== null)
    return `${subject} rejected: ${reason}${keys === 1 ? ', key' : ', first keys'} ${firstKeys.join(', ')}`
  const lines = differences.map(({ key, columns, reason }) => `\n  ${record} ${key}: ${reason ?? columns.join(', ')}`)
  return `${subject} ${keys === 1 ? 'differs' : 'differ'} from the source:${lines.join('')}`
}
