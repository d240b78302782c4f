import { expect, test } from 'vitest'
import { type ColumnKind, columnCodecs } from '../../src/db/column-codecs.ts'
import { readRecordText } from '../../src/db/record-text.ts'
import { toPhrase } from '../../src/rest/v1/cell.ts'
import { giveBack, JsonWriter } from '../../src/rest/v1/json.ts'

const memory = 1 << 18

/** @returns where in that memory it began */
function fill(bytes: number): number {
  const json = new JsonWriter()
  for (let byte = 0; byte < bytes; byte++) json.byte(0x78)
  return json.take().byteOffset
}

/** Leaves so many bytes of the memory that bodies share. */
function leave(bytes: number) {
  const left = memory - fill(1) - 1
  fill(left > bytes ? left - bytes : left + 1)
  if (left > bytes) return
  // The memory was too full: a body that does not fit begins the next.
  fill(memory - left - 1 - bytes)
}

test('what is taken back is gone, wherever the memory ends', () => {
  for (let bytes = 0; bytes <= 64; bytes++) {
    leave(bytes)
    const json = new JsonWriter()
    json.phrase(toPhrase('{"a":1234'))
    const before = json.length
    json.phrase(toPhrase(',"a_long_key_that_is_left_out":'))
    json.value(null)
    json.backTo(before)
    json.phrase(toPhrase(',"b":'))
    json.value('ä€𝄞 and what goes on for more than forty characters')
    json.phrase(toPhrase('}'))
    expect(json.take().toString()).toBe('{"a":1234,"b":"ä€𝄞 and what goes on for more than forty characters"}')
  }
})

test('a row is whole, wherever the memory ends', () => {
  const text = '\x01\x02"'
  const all = readRecordText(Buffer.from(`(t,,"${text}"",2.50)`), 4)
  const member = (key: string, kind: ColumnKind, index: number) => ({
    opening: toPhrase(`{"${key}":`),
    following: toPhrase(`,"${key}":`),
    omitted: false,
    nullFault: null,
    offset: 2 * index,
    codec: columnCodecs[kind],
  })
  const long = 'a key that is longer than what is added to the room of a cell'
  const members = [
    member('a', 'boolean', 0),
    member(long, 'text', 1),
    member('ccc', 'text', 2),
    member('d', 'decimal', 3),
  ]
  for (let bytes = 0; bytes <= 128; bytes++) {
    leave(bytes)
    const json = new JsonWriter()
    json.row(all, 0, members)
    expect(json.take().toString()).toBe(JSON.stringify({ a: true, [long]: null, ccc: text, d: 2.5 }))
  }
})

test('a body that is being sent is not written over by those that follow', () => {
  const bodies = Array.from({ length: 3000 }, (_, index) => {
    const json = new JsonWriter()
    json.value(`${index} `.repeat(index % 97))
    return json.take()
  })
  for (const [index, body] of bodies.entries()) expect(JSON.parse(body.toString())).toBe(`${index} `.repeat(index % 97))
})

test('what was given back is written over, and nothing else', () => {
  const write = (index: number) => {
    const json = new JsonWriter()
    json.value(`${index} `.repeat(index % 997))
    return json.take()
  }
  const memories = new Set<ArrayBufferLike>()
  const kept = new Map<number, Buffer>()
  for (let index = 0; index < 20_000; index++) {
    const body = write(index)
    memories.add(body.buffer)
    if (index % 500 === 0) kept.set(index, body)
    else giveBack(body)
  }
  for (const [index, body] of kept) expect(JSON.parse(body.toString())).toBe(`${index} `.repeat(index % 997))
  // Those that hold what was kept, and one more.
  expect(memories.size).toBeLessThanOrEqual(kept.size + 1)
})

test('a body longer than the memory is whole, and has its own', () => {
  const text = 'ü"\\\n'.repeat(200_000)
  const json = new JsonWriter()
  json.phrase(toPhrase('['))
  json.value(text)
  json.phrase(toPhrase(']'))
  expect(JSON.parse(json.take().toString())).toEqual([text])
  const next = new JsonWriter()
  next.value(1)
  expect(next.take().buffer.byteLength).toBe(memory)
})
