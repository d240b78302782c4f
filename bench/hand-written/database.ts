import postgres from '#postgres'

const toText = (value: unknown) => String(value)

/** `2026-01-02 03:04:05.12+00` as `2026-01-02T03:04:05.120000Z`. */
const toInstant = (text: string) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`

/** Opens the pool of a contender, at the address in libpq's variables. Columns arrive as v1 shows them. */
export const connect = () =>
  postgres({
    max: 10,
    fetch_types: false,
    connection: { TimeZone: 'UTC', DateStyle: 'ISO, YMD' },
    types: {
      bigint: { to: 20, from: [20], serialize: toText, parse: Number },
      numeric: { to: 1700, from: [1700], serialize: toText, parse: Number },
      timestamptz: { to: 1184, from: [1184], serialize: toText, parse: toInstant },
      date: { to: 1082, from: [1082], serialize: toText, parse: toText },
    },
  })

export type Pool = ReturnType<typeof connect>
