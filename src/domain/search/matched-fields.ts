import { arrayText, type RecordSql } from '../../db/sql.ts'

/** A field of records in which a text is searched. */
export interface TextField {
  /** The property of a row that has the text of the field. */
  property: string
  description: string
}

/** The words of a text, and the fields in which they were searched. */
export interface SearchedWords {
  words: readonly string[]
  /** The fields, by their names. Fields that the token may not search are left out (R32). */
  fields: Readonly<Record<string, TextField>>
}

/**
 * Finds the fields of each row in which at least one of the words occurs. PostgreSQL compares, by the same function
 * that finds the rows.
 *
 * @returns the names of the fields
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
