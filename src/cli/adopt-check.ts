import { Command } from 'commander'
import { checkMapping, type Finding } from '../adoption/check.ts'
import { readConfig } from '../config.ts'
import { hasSchema } from '../db/migrate.ts'
import { requireMigrated, withUnmigratedDatabase } from './database.ts'
import { jsonOption, printResult } from './output.ts'

export const checkCommand = new Command('check')
  .description(
    'Check the mapping of a folder with all rows of the platform. Changes nothing: the service and writers may run. Exits ' +
      'with 1 when there is an error.',
  )
  .argument('<folder>')
  .addOption(jsonOption())
  .action(async (folder: string, { json }: { json: boolean }) => {
    const { findings, grants } = await withUnmigratedDatabase(readConfig(process.env), async database => {
      if (await hasSchema(database.owner)) await requireMigrated(database)
      return checkMapping(database.owner, folder)
    })
    const errors = findings.filter(({ level }) => level === 'error').length
    const found = findings.map(describeFinding).join('\n\n') || 'Nothing is wrong.'
    const lines = [
      found,
      '',
      '-- What the login has to read, which the owner of the tables may:',
      ...grants,
      '',
      countOf(errors, findings.length - errors),
    ]
    printResult(json, { findings, grants }, lines.join('\n'))
    if (errors > 0) process.exitCode = 1
  })

/** Describes what is wrong for a person. */
export function describeFinding({ file, line, level, problem, remedy, keys }: Finding): string {
  const examples = keys.length > 0 ? ` Keys: ${keys.join(', ')}.` : ''
  const place = line === null ? file : `${file}:${line}`
  return `${place}: ${level}: ${withStop(problem)}${examples}\n  ${withStop(remedy)}`
}

const withStop = (sentence: string) => (/[.;)]$/.test(sentence) ? sentence : `${sentence}.`)

const countOf = (errors: number, warnings: number) =>
  `${errors} error${errors === 1 ? '' : 's'}, ${warnings} warning${warnings === 1 ? '' : 's'}`
