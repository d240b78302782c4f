import { Command } from 'commander'
import { initMapping, type MappingDraft } from '../../adoption/init.ts'
import { readConfig } from '../../config/config.ts'
import { GatewayError } from '../../domain/errors.ts'
import { withUnmigratedDatabase } from '../database/database.ts'
import { jsonOption, printResult } from '../terminal/output.ts'
import { shellCommand } from '../terminal/shell-command.ts'
import { createFromOption } from './check.ts'

export const initCommand = new Command('init')
  .description(
    'Write a mapping to begin with, from the names and types of the tables that the platform has. Reads the catalog of the ' +
      'database alone, and changes nothing in it. Compare each column with your data: it is a guess.',
  )
  .argument('<folder>', 'the folder of the mapping; no file in it is overwritten')
  .addOption(createFromOption())
  .addOption(jsonOption())
  .action(async (folder: string, { from, json }: { from?: string; json: boolean }) => {
    const config = readConfig(from === undefined ? process.env : { ...process.env, DATABASE_URL: from })
    if (config.databaseUrl === undefined) {
      throw new GatewayError(
        'BAD_USER_INPUT',
        'DATABASE_URL or PLATFORM_URL must name the database of the platform, for example postgres://user:password@host:5432/database.',
      )
    }
    const drafts = await withUnmigratedDatabase(({ owner }) => initMapping(owner, folder), config)
    const shown = drafts.map(({ record, candidates, files }) => ({ record, candidates, files: Object.keys(files) }))
    const advice = `Compare each column in ${folder} with your data, then run: ${shellCommand(`adopt check ${folder}`)}`
    printResult(json, { folder, mappings: shown }, [...drafts.map(describe), advice].join('\n'))
  })

/** Describes the files of a type of records, or the reason why the type has no files. */
function describe({ record, candidates: [source], sought, files }: MappingDraft): string {
  const names = Object.keys(files).join(', ')
  if (source) return `${names}: from ${source}`
  const reason = `because no table with a primary key of one column is called ${sought.join(', ')}.`
  return names ? `${names}: one shop, ${reason} Put its name and time zone.` : `${record}: left out, ${reason}`
}
