import { SingleBar } from 'cli-progress'
import { Command } from 'commander'
import { checkMapping, type RecordChange } from '../../adoption/check.ts'
import { estimateRows } from '../../adoption/estimate.ts'
import { type Progress, writeRecords } from '../../adoption/fill.ts'
import { exportMapping } from '../../adoption/folder.ts'
import { exportIds, importIds } from '../../adoption/ids.ts'
import { exportRejected, readRejected } from '../../adoption/rejected.ts'
import { readRecordStates } from '../../adoption/status.ts'
import { readConfig } from '../../config/config.ts'
import { captureSources, describeMappings, hasMappings, readMappings } from '../../db/mapping/mappings.ts'
import { defaultLockWait, migrate } from '../../db/migration/migrate.ts'
import { hasSchema } from '../../db/migration/migrations.ts'
import { describeSchema } from '../../db/migration/upgrade-statements.ts'
import { GatewayError } from '../../domain/errors.ts'
import { readStepState } from '../../projection/step-state.ts'
import { describeReason } from '../../reasons.ts'
import type { PlatformTable } from '../../staging/platform-tables.ts'
import { removeStaging } from '../../staging/remove.ts'
import { checkPlatform, stagePlatform } from '../../staging/stage.ts'
import { readLag } from '../../staging/subscription.ts'
import { withDatabase, withUnmigratedDatabase } from '../database/database.ts'
import { formatQuantity, jsonOption, onBlocked, printResult, printTable, readSeconds } from '../terminal/output.ts'
import { shellCommand } from '../terminal/shell-command.ts'
import { verifyCommand } from '../verify.ts'
import { checkCommand, createFromOption, createSearchPathOption, requireNoErrors } from './check.ts'
import { initCommand } from './init.ts'
import { showCommand } from './show.ts'

interface ApplyOptions {
  from?: string
  searchPath: string
  wait: number
  json: boolean
}

const applyCommand = new Command('apply')
  .description(
    'Install the mappings of a folder, and write the records of all rows while the platform works. After an interruption, ' +
      'or to install changed files, run it again: steps write only what differs.',
  )
  .argument('<folder>', 'has <record>.sql and <record>.from.<table>.sql')
  .addOption(createFromOption())
  .addOption(createSearchPathOption())
  .option('--wait <seconds>', 'how long to wait for transactions that hold a lock', readSeconds, defaultLockWait)
  .addOption(jsonOption())
  .action(async (folder: string, { from, searchPath: path, wait, json }: ApplyOptions) => {
    const adopted = readMappings(folder, path)
    const stop = new AbortController()
    const bar =
      process.stdout.isTTY && !json
        ? new SingleBar({ format: '{phase} {bar} {percentage}% | {value} of about {total}' })
        : null
    const progress = await withUnmigratedDatabase(async ({ owner, pool }) => {
      // Migrates first, because the mapping is checked with the SQL functions of this version. When the schema does not
      // exist, the check creates it itself.
      const isMigrated = (await hasSchema(owner)) || from !== undefined
      if (isMigrated) await migrate(owner, { lockWait: wait, adopted: null, onBlocked })
      if (from !== undefined) {
        const onTable = ({ schema, name }: PlatformTable) => console.error(`Copying ${schema}.${name} …`)
        const options = { platformUrl: from, path, lockWait: wait, onBlocked, onTable }
        requireNoErrors(await stagePlatform(owner, folder, options))
      }
      const isInstalled = isMigrated && (await hasMappings(owner, adopted))
      if (!isInstalled) requireNoErrors((await checkMapping(owner, folder, path)).findings)
      await migrate(owner, { lockWait: wait, adopted, onBlocked })
      // Before this line, Ctrl-C ends the process, and the server rolls the work back, because it is one transaction.
      process.once('SIGINT', () => stop.abort())
      const total = await estimateRows(owner, adopted)
      bar?.start(total, 0, { phase: 'records' })
      try {
        return await writeRecords(pool, stop.signal, ({ phase, records }) => bar?.update(records, { phase }))
      } finally {
        bar?.stop()
      }
    })
    printResult(json, progress, describeProgress(progress))
    if (progress.phase !== 'done') process.exitCode = 1
  })

const describeProgress = ({ phase, problem, records, rejected }: Progress) => {
  const written = `${records.toLocaleString('en')} records are written`
  if (phase === 'stopped') return `${written}, and the others wait. ${problem}`
  if (phase !== 'done') return `${written}. The service goes on when it runs, or this command.`
  if (rejected === 0) return `${written}.`
  const rows = `${rejected.toLocaleString('en')} row${rejected === 1 ? ' breaks' : 's break'}`
  return `${written}. ${rows} a rule: ${shellCommand('verify')} names them.`
}

const planCommand = new Command('plan')
  .description(
    'Print the SQL of all that `adopt apply` creates, for the administrator of the database. psql can run it.',
  )
  .argument('<folder>')
  .requiredOption('--sql', 'as SQL')
  .addOption(createFromOption())
  .addOption(createSearchPathOption())
  .action(async (folder: string, { from, searchPath }: { from?: string; searchPath: string }) => {
    if (from !== undefined) {
      const { grants } = await withUnmigratedDatabase(({ owner }) => checkPlatform(owner, from, folder, searchPath))
      console.log(['-- At the platform', ...grants, '', '-- In the database of the gateway', ''].join('\n'))
    }
    const mappings = readMappings(folder, searchPath)
    const others = `call gateway.install_no_mapping('{${mappings.map(({ record }) => record)}}');`
    console.log([...describeSchema([...describeMappings(mappings), others]), captureSources].join('\n\n'))
  })

const statusCommand = new Command('status')
  .description(
    'Print how far the records follow the platform: changes that wait, rejected keys, and what holds up a type of records.',
  )
  .addOption(jsonOption())
  .action(async ({ json }: { json: boolean }) => {
    const { steps, records, replication } = await withDatabase(async ({ owner, pool }) => ({
      steps: await readStepState(pool),
      replication: await readLag(owner, { isRecent: false }),
      records: await readRecordStates(owner),
    }))
    if (json) return printResult(true, { ...steps, records, replication }, '')
    printTable(
      records.map(({ record, records, rejected, state }) => ({
        record,
        records: records.toLocaleString('en'),
        rejected: rejected.toLocaleString('en'),
        state: state ?? 'follows each change',
      })),
    )
    const age =
      steps.secondsSinceStep === null ? 'The first fill goes on' : `The last step was ${steps.secondsSinceStep} s ago`
    console.log(`\n${age}; ${steps.waiting.toLocaleString('en')} changes wait.`)
    if (replication) {
      const left =
        replication.log_left === null ? '' : `; ${Math.round(replication.log_left * 100)} % of its log budget is left`
      console.log(`${replication.behind.toLocaleString('en')} bytes of the platform's log are not applied${left}.`)
    }
    for (const reason of steps.reasons) console.log(describeReason(reason))
    if (steps.verifiedThrough !== null)
      console.log(`All records were equal to their sources at ${steps.verifiedThrough}.`)
    for (const { record, key, reason } of steps.rejectedKeys) console.log(`${record} ${key}: ${reason}`)
  })

const diffCommand = new Command('diff')
  .description(
    'Print which records would appear, leave or differ if the mapping of a folder were installed, by type, with the first of ' +
      'each. Reads all rows, and changes nothing. Tables of a platform on another server are read as they are copied.',
  )
  .argument('<folder>')
  .addOption(createSearchPathOption())
  .addOption(jsonOption())
  .action(async (folder: string, { searchPath, json }: { searchPath: string; json: boolean }) => {
    const { findings, changes } = await withDatabase(({ owner }) => checkMapping(owner, folder, searchPath))
    requireNoErrors(findings)
    printResult(json, { changes }, changes.map(describeChange).join('\n') || 'No record would change.')
  })

const describeChange = ({ record, change, records, firstKey, columns }: RecordChange): string => {
  const differing = columns.length > 0 ? `, in ${columns.join(', ')}` : ''
  return `${record}: ${formatQuantity(records, 'record')} would ${change}, first key ${firstKey}${differing}`
}

const exportCommand = new Command('export')
  .description('Write the installed mapping into a folder, so that there is a way back to it.')
  .argument('<folder>', 'the folder to write; no file in it is overwritten')
  .addOption(jsonOption())
  .action(async (folder: string, { json }: { json: boolean }) => {
    const exported = await withDatabase(({ owner }) => exportMapping(owner, folder))
    const apply = shellCommand(`adopt apply ${folder} --search-path '${exported.path}'`)
    printResult(json, { folder, ...exported }, `${exported.files.join('\n')}\nTo install it again: ${apply}`)
  })

const rejectedCommand = new Command('rejected')
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

const idsCommand = new Command('ids')
  .description('Save the ids of records whose keys are no integers, and restore them in another database.')
  .addCommand(
    new Command('export')
      .description('Print them as CSV.')
      .action(() => withDatabase(({ owner }) => exportIds(owner, process.stdout))),
  )
  .addCommand(
    new Command('import')
      .description('Read them from standard input, before the first `adopt apply`.')
      .action(async () => {
        const count = await withUnmigratedDatabase(async ({ owner }) => {
          await migrate(owner, { adopted: [], onBlocked })
          return importIds(owner, process.stdin)
        })
        console.log(`${count.toLocaleString('en')} ids are restored.`)
      }),
  )

const removeCommand = new Command('remove')
  .description(
    'Remove the schema gateway and all triggers of the gateway from the tables of the platform. Stop the service first.',
  )
  .requiredOption('--yes', 'remove also tokens, administrators and the ids of records: `adopt ids export` saves these')
  .option('--wait <seconds>', 'how long to wait for transactions that hold a lock', readSeconds, defaultLockWait)
  .addOption(createFromOption())
  .action(async ({ wait, from }: { wait: number; from?: string }) => {
    const left = await withUnmigratedDatabase(async ({ owner }) => {
      await migrate(owner, { lockWait: wait, adopted: [], onBlocked })
      const left = await removeStaging(owner, from)
      await owner`call /* adoption.remove */ gateway.remove()`
      return left
    })
    if (left !== null) console.log(`Let the owner of the tables run at the platform: ${left}`)
    console.log(
      'The schema gateway and its triggers are removed. The roles voucher_gateway and voucher_gateway_reader stay: other databases may use them.',
    )
  })

/**
 * Requires DATABASE_URL. Without this variable, an embedded server would start, and its database has no tables of a
 * platform.
 */
function requireDatabase(): void {
  if (readConfig(process.env).databaseUrl !== undefined) return
  const message =
    'DATABASE_URL must name the database of the platform, or with PLATFORM_URL (--from) the database of the gateway, for example ' +
    'postgres://user:password@host:5432/database.'
  throw new GatewayError('BAD_USER_INPUT', message)
}

export const adoptCommand = new Command('adopt')
  .description('Serve the data of a platform whose tables are not the plain ones (docs/adopting.md).')
  .hook('preAction', (_adopt, command) => {
    const opensDatabase = command !== initCommand && (command !== planCommand || planCommand.opts().from !== undefined)
    if (opensDatabase) requireDatabase()
  })
  // `verify` is also a command of the program, so the hook `preAction` of `adopt` does not run for `verify`.
  .hook('preSubcommand', (_adopt, command) => {
    if (command === verifyCommand) requireDatabase()
  })
  .addCommand(initCommand)
  .addCommand(checkCommand)
  .addCommand(showCommand)
  .addCommand(diffCommand)
  .addCommand(planCommand)
  .addCommand(applyCommand)
  .addCommand(exportCommand)
  .addCommand(statusCommand)
  .addCommand(rejectedCommand)
  .addCommand(verifyCommand)
  .addCommand(idsCommand)
  .addCommand(removeCommand)
