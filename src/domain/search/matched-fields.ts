import { arrayText, type RecordSql } from '../../db/sql.ts'

/** A field of records in which a text is searched. */
export interface TextField {
  /** The property of a row with the text of the field. */
  property: string
  description: string
}

/** The words that a search looks for, and the fields in which it looks for them. */
export interface SearchedWords {
  words: readonly string[]
  /** The fields by name, without the fields that the token may not search (R32). */
  fields: Readonly<Record<string, TextField>>
}

/**
 * Finds the fields of each row in which at least one of the words occurs. PostgreSQL compares the words, with the same
 * function that finds the rows.
 *
 * @returns the names of the fields, by row; a row without such a field is absent
 */
export async function findMatchedFields<Row extends object>(
  sql: RecordSql,
  { words, fields }: SearchedWords,
  rows: readonly Row[],
): Promise<ReadonlyMap<Row, readonly string[]>> {
  const cells = rows.flatMap(row =>
    Object.entries(fields).flatMap(([name, { property }]) => {
      const text: unknown = Reflect.get(row, property)
      return typeof text === 'string' ? [{ row, name, text }] : []
    }),
  )
  if (cells.length === 0) return new Map()
  const found = await sql<{ place: number }[]>`
    select /* search.matched_fields */ place::integer
    from unnest(${arrayText(cells.map(({ text }) => text))}::text::text[]) with ordinality as cell(text, place)
    where exists (select from unnest(${arrayText(words)}::text::text[]) as word
                  where gateway.has_word(gateway.folded(text), word))
    order by place`
  const names = new Map<Row, string[]>()
  for (const { place } of found) {
    const cell = cells[place - 1]
    if (cell) names.set(cell.row, [...(names.get(cell.row) ?? []), cell.name])
  }
  return names
}
