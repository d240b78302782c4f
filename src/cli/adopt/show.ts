import { Command } from 'commander'
import { type KeyState, readKeyState } from '../../adoption/show.ts'
import { withoutTrace } from '../../adoption/without-trace.ts'
import { readMappings } from '../../db/mapping/mappings.ts'
import { hasSchema } from '../../db/migration/migrations.ts'
import { GatewayError } from '../../domain/errors.ts'
import { requireMigrated, withUnmigratedDatabase } from '../database/database.ts'
import { jsonOption, printResult } from '../terminal/output.ts'
import { createSearchPathOption } from './check.ts'
import type { Answer } from './v1-answers.ts'

interface Options {
  searchPath: string
  json: boolean
}

export const showCommand = new Command('show')
  .description(
    'Show one record from end to end: the row that the select has for the key, why steps will evaluate it, the record, why v1 ' +
      'cannot show the row, and what v1 answers. Changes nothing: the redemption token of the answer is not valid.',
  )
  .argument('<folder>')
  .argument('<record>', 'its type, for example voucher')
  .argument('<key>', 'as the select has it')
  .addOption(createSearchPathOption())
  .addOption(jsonOption())
  .action(async (folder: string, record: string, key: string, { searchPath, json }: Options) => {
    const mapping = readMappings(folder, searchPath).find(mapping => mapping.record === record)
    if (!mapping) throw new GatewayError('BAD_USER_INPUT', `The folder ${folder} has no ${record}.sql.`)
    const { state, answers } = await withUnmigratedDatabase(async database => {
      const { owner } = database
      if (await hasSchema(owner)) await requireMigrated(database)
      return withoutTrace(owner, async transaction => {
        const state = await readKeyState(transaction, mapping, key)
        // Imported here, because the module builds the GraphQL schema, which other commands do not need.
        const { readAnswers } = await import('./v1-answers.ts')
        return { state, answers: await readAnswers(owner, transaction, record, state) }
      })
    })
    printResult(json, { ...state, answers }, describe(record, state, answers))
  })

function describe(record: string, state: KeyState, answers: Answer[]): string {
  const { rows, isInstalled, notes, record: stored, rejection } = state
  const show = (value: unknown) => JSON.stringify(value, null, 2)
  return [
    rows.length === 0 ? `${record}.sql has no row for this key.` : rows.map(row => `The row: ${show(row)}`),
    isInstalled
      ? []
      : `${record}.sql, or a rule of it, is not installed as it is: the rest is about the installed one.`,
    notes.length === 0 ? 'No change of it waits.' : `A step will evaluate it: ${notes.join(' ')}`,
    stored ? `The record: ${show(stored)}` : 'There is no record.',
    rejection === null ? [] : `It is rejected: ${rejection}`,
    answers.map(({ request, status, body }) => `${request}: ${status} ${show(body)}`),
    stored && answers.length === 0 ? 'v1 shows it as a part of others.' : [],
  ]
    .flat()
    .join('\n\n')
}
