import { expect, test } from 'vitest'
import { column, nullable, type RowOf } from '../../src/db/column.ts'
import { LazyRow, rowCodec } from '../../src/db/row-codec.ts'
import { BodyWriter } from '../../src/executor/body-buffers.ts'

/** Begins a body so long that the memory for bodies ends at another place each time. */
function begin(length: number): BodyWriter {
  const body = new BodyWriter()
  body.value('x'.repeat(length))
  return body
}

test('backTo removes the text after a position, also across the end of a buffer', () => {
  for (let length = 0; length <= 300_000; length += 4_999) {
    const body = begin(length)
    const before = body.length
    body.text(Buffer.from(',"a_long_key_that_is_left_out":'))
    body.null()
    body.backTo(before)
    body.text(Buffer.from(',"b":'))
    body.value('ä€𝄞 and more than forty characters in all of them')
    expect(body.finish().toString()).toBe(
      `"${'x'.repeat(length)}","b":"ä€𝄞 and more than forty characters in all of them"`,
    )
  }
})

test('columns are written completely, also across the end of a buffer', () => {
  const described = {
    a: column('a', 'boolean'),
    b: nullable('b', 'text'),
    c: column('c', 'text'),
    d: column('d', 'decimal'),
  }
  const codec = rowCodec<RowOf<typeof described>>(described)
  const [row] = codec.read(Buffer.from('(t,,"\x01\x02""",2.50)'))
  if (!(row instanceof LazyRow)) throw new Error('There is no row.')
  const columns = [...row.layout].map(
    ([
      name,
      {
        offset,
        codec: { writeJson },
      },
    ]) => {
      const prefix = Buffer.from(`,${JSON.stringify(name)}:`)
      return { prefix, offset, writeJson, nonNull: false, omitNull: false }
    },
  )
  for (let length = 0; length <= 600_000; length += 9_973) {
    const body = begin(length)
    expect(body.columns(row, columns, 0)).toBe(4)
    expect(body.finish().toString()).toBe(`"${'x'.repeat(length)}","a":true,"b":null,"c":"\\u0001\\u0002\\"","d":2.5`)
  }
})

test('later bodies do not overwrite a finished one', () => {
  const bodies = Array.from({ length: 3000 }, (_, index) => begin(index % 997).finish())
  for (const [index, body] of bodies.entries()) expect(JSON.parse(body.toString())).toBe('x'.repeat(index % 997))
})
