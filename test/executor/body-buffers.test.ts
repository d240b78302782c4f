import { expect, test } from 'vitest'
import { columnCodecs } from '../../src/db/column-codecs.ts'
import { BodyWriter } from '../../src/executor/body-buffers.ts'

const text = (value: string) => Buffer.from(value)

test('what is removed is gone, however long the body is', () => {
  for (let length = 0; length <= 300_000; length += 4_999) {
    const body = new BodyWriter()
    body.value('x'.repeat(length))
    const before = body.length
    body.text(text(',"a_long_key_that_is_left_out":'))
    body.null()
    body.backTo(before)
    body.text(text(',"b":'))
    body.value('ä€𝄞 and what goes on for more than forty characters')
    expect(body.finish().toString()).toBe(
      `"${'x'.repeat(length)}","b":"ä€𝄞 and what goes on for more than forty characters"`,
    )
  }
})

test('a column is whole, however long the body is', () => {
  const column = Buffer.from('\x01\x02""')
  for (let length = 0; length <= 600_000; length += 9_973) {
    const body = new BodyWriter()
    body.value('x'.repeat(length))
    body.column(columnCodecs.text, column, 0, column.length)
    expect(body.finish().toString()).toBe(`"${'x'.repeat(length)}""\\u0001\\u0002\\""`)
  }
})

test('a body that is being sent is not written over by those that follow', () => {
  const bodies = Array.from({ length: 3000 }, (_, index) => {
    const body = new BodyWriter()
    body.value(`${index} `.repeat(index % 97))
    return body.finish()
  })
  for (const [index, body] of bodies.entries()) expect(JSON.parse(body.toString())).toBe(`${index} `.repeat(index % 97))
})
