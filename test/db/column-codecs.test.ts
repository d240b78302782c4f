import fc from 'fast-check'
import { type GraphQLLeafType, isLeafType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { nullable } from '../../src/db/row/column.ts'
import { type ColumnKind, type ColumnValue, columnCodecs, maxJsonBytes } from '../../src/db/row/column-codecs.ts'
import { createRowCodec, LazyRow } from '../../src/db/row/row-codec.ts'
import { columnTypes } from '../../src/graphql/columns.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createDatabase } from '../support/database.ts'

const { pool } = await createDatabase()

const text = fc
  .array(fc.oneof(fc.constantFrom('"', '\\', ',', '(', ')', ' ', '\n', '\x01', '\x1f', '\x7f', 'é', '𝄞'), fc.string()))
  .map(parts => parts.join('').replaceAll('\0', ''))

const instant = fc
  .tuple(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), fc.constantFrom('', '.1', '.000001', '.999999'))
  .map(([second, fraction]) => `${new Date(second * 1000).toISOString().slice(0, 19)}${fraction}Z`)

/** Generators of values by kind of column, as texts that PostgreSQL accepts. */
const textGenerators: Record<ColumnKind, fc.Arbitrary<string>> = {
  bigint: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.maxSafeInteger()).map(String),
  integer: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.integer()).map(String),
  decimal: fc
    .tuple(fc.integer({ min: -999_999_999_999, max: 999_999_999_999 }), fc.nat(3))
    .map(([units, digits]) => (units / 10 ** digits).toFixed(digits)),
  boolean: fc.boolean().map(String),
  text,
  instant,
  date: instant.map(value => value.slice(0, 10)),
  textArray: fc.array(text).map(items => JSON.stringify(items)),
}
const selectExpressions: Record<ColumnKind, string> = {
  bigint: 'value::bigint',
  integer: 'value::integer',
  decimal: 'value::numeric',
  boolean: 'value::boolean',
  text: 'value',
  instant: 'value::timestamptz',
  date: 'value::date',
  textArray: 'case when value is not null then array_to_json(array(select json_array_elements_text(value::json))) end',
}

/** For each kind of column, returns the JavaScript value of a text. */
const decoders: Record<ColumnKind, (value: string) => unknown> = {
  bigint: Number,
  integer: Number,
  decimal: Number,
  boolean: value => value === 'true',
  text: value => value,
  instant: value => `${value.slice(0, 19)}.${value.slice(20, -1).padEnd(6, '0')}Z`,
  date: value => value,
  textArray: value => JSON.parse(value),
}

const codecOf = (kind: ColumnKind) =>
  createRowCodec<{ value: ColumnValue<ColumnKind> | null }>({ value: nullable(selectExpressions[kind], kind) })

const leafOf = (name: string): GraphQLLeafType => {
  const type = schema.getType(name.replaceAll(/\W/g, ''))
  if (!isLeafType(type)) throw new Error(`The schema has no scalar ${name}.`)
  return type
}

describe.each(Object.keys(textGenerators) as ColumnKind[])('a column of the kind %s', kind => {
  const { writeJson } = columnCodecs[kind]
  const scalar = columnTypes[kind]

  test('is decoded to the same value in rows and in other statements, and its JSON equals the JSON of its scalar', async () => {
    const codec = codecOf(kind)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(textGenerators[kind], { freq: 9 }), { minLength: 1, maxLength: 50 }),
        async values => {
          const list = JSON.stringify(values)
          const found = await pool`
          select ${pool.unsafe(selectExpressions[kind])} as value
          from json_array_elements_text(${list}::text::json) with ordinality as item(value, at) order by at`
          const [rows] = await pool`
          select string_agg(row, '') from (
            select ${codec.select(pool)} as row
            from json_array_elements_text(${list}::text::json) with ordinality as item(value, at) order by at) page`.raw()
          const lazy = codec.read(rows?.[0])
          const expected = values.map(value => (value === null ? null : decoders[kind](value)))
          expect(lazy.map(row => row.value)).toEqual(expected)
          expect(found.map(row => row.value)).toEqual(expected)
          for (const [index, row] of lazy.entries()) {
            if (!(row instanceof LazyRow)) throw new Error('A row is lazy.')
            const { bytes, bounds } = row.records
            const [start, end] = [bounds[row.first]!, bounds[row.first + 1]!]
            expect(start === -1).toBe(values[index] === null)
            if (start === -1) continue
            const target = Buffer.alloc(maxJsonBytes(end - start) + 1)
            const length = writeJson(target, 1, bytes, start, end) - 1
            expect(length).toBeLessThanOrEqual(maxJsonBytes(end - start))
            const leaf = leafOf(scalar)
            const serialized = (Array.isArray(row.value) ? row.value : [row.value]).map(value => leaf.serialize(value))
            expect(target.toString('utf8', 1, 1 + length)).toBe(
              JSON.stringify(scalar.startsWith('[') ? serialized : serialized[0]),
            )
          }
        },
      ),
      { numRuns: 25 },
    )
  })
})
