import { Command, InvalidArgumentError, Option } from 'commander'
import { type ImportReport, importSources } from '../import/import.ts'
import { ImportRefusedError } from '../import/import-errors.ts'
import { readFolder, standardInput } from '../import/source.ts'
import { tableNames } from '../import/table.ts'
import { readDateFormat } from '../import/values.ts'
import { toJsonLine } from '../json-line.ts'
import { withDatabase } from './database/database.ts'
import { jsonOption, printTable } from './terminal/output.ts'
import { shellCommand } from './terminal/shell-command.ts'

interface Options {
  table?: string
  replace: boolean
  csvDelimiter: string
  csvQuote: string
  csvEscape?: string
  csvNull: string
  dateFormat?: RegExp
  json: boolean
}

/** Reads a character of a dialect of CSV. @throws InvalidArgumentError */
function readCharacter(text: string): string {
  const character = text === '\\t' ? '\t' : text
  if (/^[\t -~]$/.test(character)) return character
  throw new InvalidArgumentError("It must be one character of ASCII, for example ';', or '\\t' for a tab.")
}

/** Reads a format of dates. @throws InvalidArgumentError */
function readFormat(text: string): RegExp {
  const format = readDateFormat(text)
  if (format) return format
  throw new InvalidArgumentError('It must have yyyy, MM and dd once each, for example dd/MM/yyyy.')
}

export const importCommand = new Command('import')
  .description('Import files of rows into the plain tables: all of them, or none when a line is faulty.')
  .argument('<folder>', 'a folder with files named <table>.csv or <table>.ndjson; - for the standard input')
  .addOption(
    new Option('--table <name>', 'the table of the standard input, which is lines of JSON').choices(tableNames),
  )
  .option('--replace', 'also delete the rows whose keys a file lacks from its table', false)
  .option('--csv-delimiter <character>', 'what separates values in CSV', readCharacter, ',')
  .option(
    '--csv-quote <character>',
    'what stands around values in CSV that have a delimiter or a line end',
    readCharacter,
    '"',
  )
  .option(
    '--csv-escape <character>',
    'what stands before a quotation mark in such a value (default: the mark)',
    readCharacter,
  )
  .option('--csv-null <text>', 'the value of CSV without quotation marks that is null', '')
  .option('--date-format <format>', 'how files write dates, for example dd/MM/yyyy (default: ISO 8601)', readFormat)
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
Tables: ${tableNames.join(', ')}

Examples:
  import ./export
  gzip -dc customers.ndjson.gz | voucher-gateway import - --table customer`,
  )
  .action(async (folder: string, options: Options, command: Command) => {
    const { table, replace, json, csvDelimiter, csvQuote, csvEscape = csvQuote } = options
    if (csvDelimiter === csvQuote || csvDelimiter === csvEscape) {
      command.error('error: --csv-delimiter must differ from --csv-quote and --csv-escape')
    }
    if ((folder === '-') !== (table !== undefined)) {
      command.error('error: give --table for the standard input (-), and only for it')
    }
    const sources = table === undefined ? readFolder(folder) : [standardInput(table)]
    const formats = {
      csv: { delimiter: csvDelimiter, quote: csvQuote, escape: csvEscape, null: options.csvNull },
      date: options.dateFormat,
    }
    const onProgress = (phrase: string) => {
      if (process.stderr.isTTY && !json) console.error(phrase)
    }
    try {
      const tables = await withDatabase(({ owner }) => importSources(owner, sources, { formats, replace, onProgress }))
      if (json) console.log(toJsonLine({ tables }))
      else {
        printTable(tables.map(toRow))
        console.log(
          'The service writes the records with its next steps. Rows that v1 cannot show are rejected then; to list the ' +
            `reasons: ${shellCommand('verify')}`,
        )
      }
    } catch (error) {
      if (!(json && error instanceof ImportRefusedError)) throw error
      const { listed, count } = error.errors
      console.log(toJsonLine({ faults: listed, count }))
      process.exitCode = 1
    }
  })

const toRow = ({ table, rows, written, deleted }: ImportReport) => ({
  table,
  rows: rows.toLocaleString('en'),
  written: written.toLocaleString('en'),
  deleted: deleted.toLocaleString('en'),
})
