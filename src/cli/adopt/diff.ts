import { Command } from 'commander'
import { checkMapping, type RecordChange } from '../../adoption/check.ts'
import { withDatabase } from '../database/database.ts'
import { formatQuantity, jsonOption, printResult } from '../terminal/output.ts'
import { requireNone, searchPathOption } from './check.ts'

export const diffCommand = new Command('diff')
  .description(
    'Print which records would appear, leave or differ if the mapping of a folder were installed, by type, with the first of ' +
      'each. Reads all rows, and changes nothing. Tables of a platform on another server are read as they are copied.',
  )
  .argument('<folder>')
  .addOption(searchPathOption())
  .addOption(jsonOption())
  .action(async (folder: string, { searchPath, json }: { searchPath: string; json: boolean }) => {
    const { findings, changes } = await withDatabase(({ owner }) => checkMapping(owner, folder, searchPath))
    requireNone(findings)
    printResult(json, { changes }, changes.map(describe).join('\n') || 'No record would change.')
  })

const describe = ({ record, change, records, firstKey, columns }: RecordChange): string => {
  const differing = columns.length > 0 ? `, in ${columns.join(', ')}` : ''
  return `${record}: ${formatQuantity(records, 'record')} would ${change}, first key ${firstKey}${differing}`
}
