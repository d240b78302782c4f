import { Argument, Command, Option } from 'commander'
import { readConfig } from '../config/config.ts'
import { FaultyLinesError } from '../import/faults.ts'
import { type Imported, importSources } from '../import/import.ts'
import { readFolder, standardInput } from '../import/source.ts'
import { tableNames } from '../import/table.ts'
import { toJsonLine } from '../json-line.ts'
import { withDatabase } from './database.ts'
import { jsonOption, printTable } from './output.ts'
import { shellCommand } from './shell-command.ts'

interface Options {
  table?: string
  replace: boolean
  json: boolean
}

export const importCommand = new Command('import')
  .description('Import files of rows into the plain tables: all of them, or none when a line is faulty.')
  .addArgument(
    new Argument('<folder>', 'a folder with files named <table>.csv or <table>.ndjson; - for the standard input'),
  )
  .addOption(
    new Option('--table <name>', 'the table of the standard input, which is lines of JSON').choices(tableNames),
  )
  .option('--replace', 'also delete the rows whose keys a file lacks from its table', false)
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
Tables: ${tableNames.join(', ')}

Examples:
  import ./export
  gzip -dc customers.ndjson.gz | voucher-gateway import - --table customer`,
  )
  .action(async (folder: string, { table, replace, json }: Options, command: Command) => {
    if ((folder === '-') !== (table !== undefined)) {
      command.error('error: give --table for the standard input (-), and only for it')
    }
    const sources = table === undefined ? readFolder(folder) : [standardInput(table)]
    const onProgress = (phrase: string) => {
      if (process.stderr.isTTY && !json) console.error(phrase)
    }
    try {
      const tables = await withDatabase(readConfig(process.env), ({ owner }) =>
        importSources(owner, sources, { replace, onProgress }),
      )
      if (json) console.log(toJsonLine({ tables }))
      else {
        printTable(tables.map(toRow))
        console.log(
          'The service writes the records with its next steps. Rows that v1 cannot show are rejected then; to list the ' +
            `reasons: ${shellCommand('verify')}`,
        )
      }
    } catch (error) {
      if (!(json && error instanceof FaultyLinesError)) throw error
      const { listed, count } = error.faults
      console.log(toJsonLine({ faults: listed, count }))
      process.exitCode = 1
    }
  })

const toRow = ({ table, rows, written, deleted }: Imported) => ({
  ...{ table, rows: rows.toLocaleString('en'), written: written.toLocaleString('en') },
  deleted: deleted.toLocaleString('en'),
})
