import { z } from 'zod'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { Permission } from '../token/permission.ts'
import { invisible } from '../trimmed.ts'
import type { FilterField } from './field.ts'
import type { TextField } from './matched-fields.ts'

const separator = new RegExp(`${invisible}+`)

/** The maximum number of characters, and of words, in the text of a search. */
const maxText = { characters: 200, words: 10 }

/** The maximum number of trigrams of a text that are tried for the trigram index. */
const maxTrigrams = 24

interface SearchedText {
  /** The SQL expression of the folded text. The expression must equal the expression of the trigram index. */
  expression: string
  fields: Readonly<Record<string, TextField>>
  /** The permission without which v1 does not show the text, because it has names or addresses of persons (R32). */
  permission?: Permission
}

/**
 * Returns a filter field for the rows whose texts contain all words of a text, in upper or lower case
 * (`gateway.has_word`). The filter does not search texts for which the token does not have the permission.
 */
export const searchedText = (description: string, ...texts: readonly SearchedText[]): FilterField => ({
  kind: 'text',
  description:
    `${description} Case does not matter. All words must occur; one of one or two characters must begin a word of the ` +
    'text: a word begins after anything that is neither a letter nor a digit.',
  textFields: mergeFields(texts),
  read(given, report, permissions) {
    const text = z.string().parse(given)
    const words = text.split(separator).filter(word => word !== '')
    if ([...text].length > maxText.characters) report(`Give at most ${maxText.characters} characters.`)
    if (words.length > maxText.words) report(`Give at most ${maxText.words} words.`)
    if (words.length === 0) return null
    const searched = texts.filter(({ permission }) => !permission || permissions.includes(permission))
    const isInAny = (sql: RecordSql, condition: (expression: Fragment) => Fragment) =>
      searched
        .map(({ expression }) => condition(sql.unsafe(expression)))
        .reduce((one, other) => sql`(${one} or ${other})`)
    return {
      where: sql =>
        words
          .map(word => isInAny(sql, expression => sql`gateway.has_word(${expression}, ${word})`))
          .reduce((one, other) => sql`${one} and ${other}`),
      textConditions: findTrigrams(words).map(
        trigram => sql => isInAny(sql, expression => sql`${expression} like ${hideFromPlanner(sql, trigram)}`),
      ),
      searchesPersonalData: searched.some(({ permission }) => permission),
      words: { words, fields: mergeFields(searched) },
    }
  },
})

const mergeFields = (texts: readonly SearchedText[]): Readonly<Record<string, TextField>> =>
  Object.fromEntries(texts.flatMap(({ fields }) => Object.entries(fields)))

/**
 * Returns the trigrams of the words that consist only of ASCII letters and digits, because for these the index finds
 * exactly the matching rows. For other characters, the database decides whether a character is a letter.
 */
function findTrigrams(words: readonly string[]): string[] {
  const runs =
    words
      .join(' ')
      .toLowerCase()
      .toUpperCase()
      .match(/[A-Z0-9]{3,}/g) ?? []
  const all = runs.flatMap(run => Array.from({ length: run.length - 2 }, (_, at) => run.slice(at, at + 3)))
  return [...new Set(all)].slice(0, maxTrigrams)
}

/**
 * Returns a pattern that the planner does not know. The planner assumes that an unknown pattern is rare, and uses the
 * trigram index. If the planner knew that a trigram is common, it would read the table, even at a tenant without a
 * matching row.
 */
const hideFromPlanner = (sql: RecordSql, trigram: string) => sql`(select ${`%${trigram}%`}::text)`
