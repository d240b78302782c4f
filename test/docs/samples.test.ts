import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readGuide } from '../../docs/render/markdown.ts'
import { sampleLanguages } from '../../docs/render/samples.ts'
import { guides } from '../../src/docs/guides.ts'
import { documentIdOf } from '../../src/graphql-http/trusted-documents.ts'
import { followed } from '../support/followed.ts'
import { startService } from '../support/service.ts'
import { type Extension, installClient, runSample, sampleFiles, samplesFolder } from './run-samples.ts'

const { database, build, client } = await startService()
const { app } = client
const origin = await app.listen({ host: '127.0.0.1', port: 0 })
await installClient(origin)

const group = await build.tenant({ id: 1, name: 'Foxglove & Tern Collection', time_zone: 'Europe/London' })
const venue = await build.tenant({ id: 2, name: 'The Copper Heron, Bath', parent_id: group })
// More than a page.
await database.loader`
  insert into purchased_voucher (id, tenant_id, reference, initial_balance, current_balance, currency, updated_at)
  select n, 1, 'REF-' || n, 25, 25, 'GBP', timestamptz '2026-01-01' + make_interval(secs => n) from generate_series(101, 160) n`
const money = { initial_balance: 250, current_balance: 250, currency: 'GBP' }
await build.voucher(group, { id: 1, reference: 'GIFT-LMAD-KFNK', ...money })
await sell()
/** A field without a value is left out (R11). */
await database.loader`
  insert into purchased_voucher (id, tenant_id, reference, updated_at)
  values (90, 1, 'WITHOUT-BALANCE', timestamptz '2026-01-01')`

await followed(database.pool)

const extensions = sampleLanguages.map(({ extension }) => extension)
/** The languages whose samples print lines; those for curl print what the service answers. */
const printing = extensions.filter(extension => extension !== 'sh')

const figuresGuide = guides
  .filter(({ slug }) => slug === 'figures')
  .map(readGuide)
  .join()

/** Each run has a token of its own, because exports are limited by token. */
async function run(
  name: string,
  extension: Extension,
  { url = origin, args = [] as string[], directory = undefined as string | undefined } = {},
) {
  const { secret } = await build.token([group, venue])
  return runSample(name, extension, { VOUCHER_GATEWAY_URL: url, VOUCHER_GATEWAY_TOKEN: secret }, args, directory)
}

/** Runs a sample that prints lines in each language. @param printed returns the lines to compare, by default as printed */
async function expectLines(name: string, lines: unknown[], printed = (given: string[]) => given): Promise<void> {
  await Promise.all(
    printing.map(async extension => expect(printed((await run(name, extension)).lines), extension).toEqual(lines)),
  )
}

/** Runs the sample for curl. @returns the answer of the service */
const answerOf = async (name: string) => JSON.parse((await run(name, 'sh')).lines.join(''))

/** Sells vouchers of the venue, which the samples of lists do not read. */
async function sell(): Promise<void> {
  const tea = await build.product(venue, { id: 11, title: 'Afternoon tea for two' })
  const spa = await build.product(venue, { id: 12, title: 'Spa day' })
  const stay = await build.product(venue, { id: 13, title: 'Overnight stay', currency: 'EUR' })
  const [day] = await database.loader<{ soon: string }[]>`select (current_date + 10)::text as soon`
  let id = 50
  const voucher = (product: number, currency: string, value: number, purchased: string, more = {}) =>
    build.voucher(venue, {
      ...{ id: id++, product_id: product, currency, purchase_timestamp: purchased },
      ...{ initial_balance: value, current_balance: value, purchase_value: value },
      ...more,
    })
  await voucher(tea, 'GBP', 60, '2026-09-03T10:00:00Z', { current_balance: 0 })
  await voucher(tea, 'GBP', 60, '2026-09-12T15:30:00Z', { current_balance: 35, date_valid_end: day?.soon ?? null })
  await voucher(spa, 'GBP', 145, '2026-09-20T09:00:00Z')
  await voucher(spa, 'GBP', 145, '2026-09-21T09:00:00Z', { void: true })
  // In London, October has begun.
  await voucher(tea, 'GBP', 60, '2026-09-30T23:30:00Z', { date_valid_end: day?.soon ?? null })
  await voucher(stay, 'EUR', 320, '2026-10-05T12:00:00Z')
}

const stored = () => database.loader<{ id: number; reference: string; balance: string }[]>`
  select id, reference, coalesce(trim_scale(current_balance)::text, '-') as balance
  from purchased_voucher where tenant_id = 1 order by updated_at nulls first, id`

test('every sample is shown by a guide, in all languages, and every sample that a guide shows is tested', () => {
  const shown = guides.flatMap(guide =>
    [...readGuide(guide).matchAll(/```samples\n(.*)\n```/g)].map(([, name = '']) => name),
  )
  expect(sampleFiles().sort()).toEqual(
    shown.flatMap(name => extensions.map(extension => `${name}.${extension}`)).sort(),
  )
  const tests = readFileSync(import.meta.filename, 'utf8')
  for (const name of shown) expect(tests).toContain(`'${name}'`)
})

describe.concurrent('the samples print what the service holds', () => {
  test('quick-start/first-call', async () => {
    const tenants = ['1 Foxglove & Tern Collection', '2 The Copper Heron, Bath']
    await expectLines('quick-start/first-call', tenants, lines => lines.sort())
    expect((await answerOf('quick-start/first-call')).data).toHaveLength(2)
  })

  test('resolving-a-voucher/resolve', async () => {
    await expectLines('resolving-a-voucher/resolve', ['GIFT-LMAD-KFNK 250 GBP'])
    const { data } = await answerOf('resolving-a-voucher/resolve')
    expect(data).toMatchObject({ status: 'redeemable', voucher: { current_balance: 250 } })
  })

  test('errors/read-an-error', async () => {
    const time = 'updated_since Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'
    const request = expect.stringMatching(/^request [\w-]{32,36}$/)
    await expectLines('errors/read-an-error', ['422 The request is not valid.', time, request])
    const { lines } = await run('errors/read-an-error', 'sh')
    expect(lines[0]).toContain(' 422 ')
    expect(lines.join('\n')).toMatch(/^x-request-id: /im)
  })

  test('figures/sales-by-month', async () => {
    const sales = ['2026-09-01 GBP 3 265', '2026-10-01 EUR 1 320', '2026-10-01 GBP 1 60']
    await expectLines('figures/sales-by-month', sales)
    const answer = await answerOf('figures/sales-by-month')
    const shown = JSON.parse(/```json\n(\{\n.*?)```/s.exec(figuresGuide)?.[1] ?? '')
    const { asOf } = answer.data.tenant.figures
    const { remaining, resetsIn } = answer.extensions.cost
    shown.data.tenant.figures.asOf = asOf
    Object.assign(shown.extensions.cost, { remaining, resetsIn })
    expect(answer).toEqual(shown)
  })

  test('rate-limits/wait', async () => {
    const url = await startProxy(refuseFirst)
    const references = (await stored()).slice(0, 50).map(({ reference }) => reference)
    await Promise.all(
      extensions.map(async extension => {
        const { lines } = await run('rate-limits/wait', extension, { url: `${url}/${extension}` })
        if (extension === 'sh') expect(JSON.parse(lines.join('')).data).toHaveLength(50)
        else expect(lines.slice(0, 50), extension).toEqual(references)
      }),
    )
    expect([...refused].sort()).toEqual([...extensions].sort())
  })

  test('bulk-export/export', async () => {
    const ids = new Set((await stored()).map(({ id }) => id))
    // Longer than a sample takes to start.
    const url = await startProxy(breakFirst, { awayMs: 2_500 })
    await Promise.all(
      extensions.map(async extension => {
        // curl does not go on after a break.
        const { lines, directory } = await run(
          'bulk-export/export',
          extension,
          extension === 'sh' ? {} : { url: `${url}/${extension}` },
        )
        const copy = readFileSync(join(directory, 'vouchers.ndjson'), 'utf8').trim().split('\n')
        expect(new Set(copy.map(line => JSON.parse(line).id)), extension).toEqual(ids)
        if (extension === 'sh')
          expect(lines.map(line => Object.keys(JSON.parse(line)))).toEqual([['server_time'], ['end', 'count']])
        else expect(lines, extension).toEqual([expect.stringMatching(/^next bound \d{4}-.*Z$/)])
      }),
    )
    expect([...broken].sort()).toEqual([...printing].sort())
    await expect(run('bulk-export/export', 'sh', { url: `${url}/sh` })).rejects.toThrow('curl')
    const shortened = await startProxy(dropEnd)
    await expect(run('bulk-export/export', 'sh', { url: `${shortened}/sh` })).rejects.toThrow('not whole')
  })
})

test('the samples of a resolution take a voucher without a balance', async () => {
  await database.platform`update purchased_voucher set initial_balance = null, current_balance = null, currency = null where id = 1`
  await expectLines('resolving-a-voucher/resolve', ['GIFT-LMAD-KFNK - -'])
})

test('the list of the guide of figures has the vouchers of an interval', async () => {
  const { secret } = await build.token([group, venue])
  const variables = { tenant: group, period: { from: '2026-09-01', to: '2026-09-30' } }
  const interval = `query ($tenant: ID!, $period: PeriodInput!) {
    tenant(id: $tenant) { figures(period: $period, withDescendants: true) {
      periods { start end sales { currency vouchers voided } }
      topProducts(currency: "GBP") { product { title } }
    } }
  }`
  const answer = (await client.graphql(secret, interval, variables)).body
  const [{ start, end, sales }] = answer.data.tenant.figures.periods
  expect(sales).toEqual([{ currency: 'GBP', vouchers: 3, voided: 1 }])
  expect(answer.extensions.cost.actual).toBe(4 + 1 + 5)
  const [, list = ''] = /```graphql\n(.*?)```/s.exec(figuresGuide) ?? []
  const { body } = await client.graphql(secret, list, { tenant: group, start, end })
  expect(body.data.tenant.purchasedVouchers).toMatchObject({
    count: { count: 3 + 1, precision: 'EXACT' },
    nextCursor: null,
  })
  expect(body.extensions.cost.actual).toBe(2 + 3 + 2)
})

test('the guide of figures names the document of its sample by its id', () => {
  const sample = readFileSync(join(samplesFolder, 'figures/sales-by-month.sh'), 'utf8')
  const [, query = ''] = /^query='(.*?)'$/ms.exec(sample) ?? []
  expect(/"documentId": "(.*?)"/.exec(figuresGuide)?.[1]).toBe(documentIdOf(query))
})

test('paging/all-pages, then keeping-in-step/changes and keeping-in-step/removals', async () => {
  const all = await stored()
  const lines = all.map(({ id, reference }) => `${id} ${reference}`)
  const directories = await Promise.all(
    extensions.map(async extension => {
      expect((await run('paging/all-pages', extension)).lines, extension).toEqual(lines)
      const first = await run('keeping-in-step/changes', extension)
      expect(first.lines, extension).toEqual(all.map(({ id, reference, balance }) => `${id} ${reference} ${balance}`))
      return { extension, directory: first.directory }
    }),
  )
  const [clock] = await database.platform<{ now: string }[]>`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`
  await database.platform`update purchased_voucher set current_balance = 12.5 where id = 120`
  // More than a page of removals.
  const deleted = await database.platform<{ id: number }[]>`
    delete from purchased_voucher where id > 100 and id <> 120 returning id`
  await Promise.all(
    directories.map(async ({ extension, directory }) => {
      expect((await run('keeping-in-step/changes', extension, { directory })).lines, extension).toEqual([
        '120 REF-120 12.5',
      ])
      const removed = await run('keeping-in-step/removals', extension, { args: [clock?.now ?? ''] })
      const lines = deleted.map(({ id }) => `PURCHASED_VOUCHER ${id} DELETED`)
      expect(removed.lines.sort(), extension).toEqual(lines.sort())
    }),
  )
})

/** The languages whose first request was refused or broken. */
const refused = new Set<string>()
const broken = new Set<string>()

type Forward = (
  request: IncomingMessage,
  response: ServerResponse,
  language: string,
  answer: () => Promise<Response>,
) => Promise<unknown>

/** A first answer beyond the rate limit: a real one would take a minute to pass. */
const refuseFirst: Forward = async (_request, response, language, answer) => {
  if (refused.has(language)) return send(response, await answer())
  refused.add(language)
  response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': '1' })
  return response.end('{"message":"The rate limit is exceeded. Try again after the window resets."}')
}

/** Ends the first connection in the middle of the answer. */
const breakFirst: Forward = async (_request, response, language, answer) => {
  const whole = await answer()
  if (broken.has(language)) return send(response, whole)
  broken.add(language)
  const body = Buffer.from(await whole.arrayBuffer())
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  return response.write(body.subarray(0, body.length / 2), () => response.destroy())
}

/** Leaves out the last line, as if the export were whole without it. */
const dropEnd: Forward = async (_request, response, _language, answer) => {
  const lines = (await (await answer()).text()).split('\n')
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  return response.end(lines.slice(0, -2).join('\n'))
}

async function send(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

/**
 * Starts a server before the service. The first segment of a path is the language that asks.
 *
 * @param awayMs how long it refuses connections first, in milliseconds
 */
async function startProxy(forward: Forward, { awayMs = 0 } = {}): Promise<string> {
  const server = createServer((request, response) => {
    const [, language = '', path = ''] = /^\/(\w+)(.*)$/.exec(request.url ?? '') ?? []
    const { accept = '', authorization = '' } = request.headers
    const answer = () => fetch(origin + path, { headers: { accept, authorization } })
    forward(request, response, language, answer).catch(() => response.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  if (awayMs > 0) {
    await new Promise(resolve => server.close(resolve))
    setTimeout(() => server.listen(port, '127.0.0.1'), awayMs)
  }
  return `http://127.0.0.1:${port}`
}
