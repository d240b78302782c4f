import { Command, Option } from 'commander'
import { checkMapping, type Finding } from '../../adoption/check.ts'
import { defaultPath } from '../../db/mapping/mappings.ts'
import { hasSchema } from '../../db/migration/migrations.ts'
import { checkPlatform } from '../../staging/stage.ts'
import { requireMigrated, withUnmigratedDatabase } from '../database/database.ts'
import { formatQuantity, jsonOption, printResult } from '../terminal/output.ts'

/** Returns the option that names the database of a platform that does not share the gateway's database. */
export const createFromOption = () =>
  new Option(
    '--from <url>',
    'the database of the platform, if it is not the gateway’s: its changes are replicated',
  ).env('PLATFORM_URL')

/** Returns the option with the schemas in which to look for names in a mapping that have no schema. */
export const createSearchPathOption = () =>
  new Option('--search-path <schemas>', 'the schemas of names in the mapping that are not qualified').default(
    defaultPath,
  )

export const checkCommand = new Command('check')
  .description(
    'Check the mapping of a folder with all rows of the platform. Changes nothing: the service and writers may run. Exits ' +
      'with 1 when there is an error.',
  )
  .argument('<folder>')
  .addOption(createFromOption())
  .addOption(createSearchPathOption())
  .addOption(jsonOption())
  .action(async (folder: string, { from, searchPath, json }: { from?: string; searchPath: string; json: boolean }) => {
    const { findings, grants } = await withUnmigratedDatabase(async database => {
      if (await hasSchema(database.owner)) await requireMigrated(database)
      return from === undefined
        ? checkMapping(database.owner, folder, searchPath)
        : checkPlatform(database.owner, from, folder, searchPath)
    })
    const errors = findings.filter(({ level }) => level === 'error').length
    const found = findings.map(describeFinding).join('\n\n') || 'Nothing is wrong.'
    const lines = [
      found,
      '',
      from === undefined
        ? '-- What the login has to read, which the owner of the tables may:'
        : '-- What the platform has to allow, and to publish:',
      ...grants,
      '',
      `${formatQuantity(errors, 'error')}, ${formatQuantity(findings.length - errors, 'warning')}`,
    ]
    printResult(json, { findings, grants }, lines.join('\n'))
    if (errors > 0) process.exitCode = 1
  })

function describeFinding({ file, line, level, problem, remedy, keys }: Finding): string {
  const examples = keys.length > 0 ? ` Keys: ${keys.join(', ')}.` : ''
  const place = line === null ? file : `${file}:${line}`
  return `${place}: ${level}: ${addFullStop(problem)}${examples}\n  ${addFullStop(remedy)}`
}

/** Ends the command when the new mapping has errors, so that the installed mapping stays. */
export function requireNoErrors(findings: readonly Finding[]): void {
  const errors = findings.filter(({ level }) => level === 'error').map(describeFinding)
  if (errors.length > 0) throw new Error([...errors, 'Nothing is installed: correct the errors first.'].join('\n\n'))
}

const addFullStop = (sentence: string) => (/[.;)]$/.test(sentence) ? sentence : `${sentence}.`)
