import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { readGuide } from '../../docs/render/markdown.ts'
import { sampleLanguages } from '../../docs/render/samples.ts'
import { guides } from '../../src/docs/guides.ts'
import { documentIdOf } from '../../src/graphql-http/trusted-documents.ts'
import { listen } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import {
  type Extension,
  installClient,
  newDirectory,
  runSample,
  type SampleOptions,
  sampleFiles,
  samplesFolder,
} from './run-samples.ts'

const { database, build, client } = await startService()
const { app } = client
const origin = await app.listen({ host: '127.0.0.1', port: 0 })
await installClient(origin)

const group = await build.tenant({ id: 1, name: 'Foxglove & Tern Collection', time_zone: 'Europe/London' })
const venue = await build.tenant({ id: 2, name: 'The Copper Heron, Bath', parent_id: group })
// More than a page.
await database.platform`
  insert into purchased_voucher (id, tenant_id, reference, initial_balance, current_balance, currency)
  select n, 1, 'REF-' || n, 25, 25, 'GBP' from generate_series(101, 160) n`
const money = { initial_balance: 250, current_balance: 250, currency: 'GBP' }
await build.voucher(group, { id: 1, reference: 'GIFT-LMAD-KFNK', ...money })
await createSales()
/** v1 leaves out a field without a value (R11). */
await build.voucher(group, { id: 90, reference: 'WITHOUT-BALANCE' })

await projected(database.pool)

const extensions = sampleLanguages.map(({ extension }) => extension)
/** The languages whose samples print lines. The samples for curl print the answer of the service. */
const printingLanguages = extensions.filter(extension => extension !== 'sh')

const figuresGuide = guides
  .filter(({ slug }) => slug === 'figures')
  .map(readGuide)
  .join()

/** Runs a sample with a new token, because exports are limited per token. */
async function runWithNewToken(
  name: string,
  extension: Extension,
  { url = origin, ...options }: SampleOptions & { url?: string } = {},
) {
  const { secret } = await build.token([group, venue])
  return runSample(name, extension, { VOUCHER_GATEWAY_URL: url, VOUCHER_GATEWAY_TOKEN: secret }, options)
}

/**
 * Runs a sample in each language, and compares its printed lines.
 *
 * @param printed changes the printed lines before they are compared
 */
async function expectLines(name: string, lines: unknown[], printed = (given: string[]) => given): Promise<void> {
  await Promise.all(
    printingLanguages.map(async extension =>
      expect(printed((await runWithNewToken(name, extension)).lines), extension).toEqual(lines),
    ),
  )
}

const readCurlAnswer = async (name: string) => JSON.parse((await runWithNewToken(name, 'sh')).lines.join(''))

/** Creates vouchers of the venue for the figures. The samples of lists read only the group. */
async function createSales(): Promise<void> {
  const tea = await build.product(venue, { id: 11, title: 'Afternoon tea for two' })
  const spa = await build.product(venue, { id: 12, title: 'Spa day' })
  const stay = await build.product(venue, { id: 13, title: 'Overnight stay', currency: 'EUR' })
  const [day] = await database.platform<{ soon: string }[]>`select (current_date + 10)::text as soon`
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
  // At this time it is already October in London.
  await voucher(tea, 'GBP', 60, '2026-09-30T23:30:00Z', { date_valid_end: day?.soon ?? null })
  await voucher(stay, 'EUR', 320, '2026-10-05T12:00:00Z')
}

const readVouchers = () => database.platform<{ id: number; reference: string; balance: string }[]>`
  select id, reference, coalesce(trim_scale(current_balance)::text, '-') as balance
  from gateway.voucher where tenant_id = 1 order by updated_at, id`

test('each sample exists in all languages, is shown by a guide, and is tested', () => {
  const shown = guides.flatMap(guide =>
    [...readGuide(guide).matchAll(/```samples\n(.*)\n```/g)].map(([, name = '']) => name),
  )
  expect(sampleFiles().sort()).toEqual(shown.flatMap(name => extensions.map(each => `${name}.${each}`)).sort())
  const tests = ['events', 'redeeming', 'samples'].map(name => readFileSync(`test/docs/${name}.test.ts`, 'utf8')).join()
  for (const name of shown) expect(tests).toContain(`'${name}'`)
})

describe.concurrent('each sample prints the data of the service', () => {
  test('quick-start/first-call', async () => {
    const tenants = ['1 Foxglove & Tern Collection', '2 The Copper Heron, Bath']
    await expectLines('quick-start/first-call', tenants, lines => lines.sort())
    expect((await readCurlAnswer('quick-start/first-call')).data).toHaveLength(2)
  })

  test('resolving-a-voucher/resolve', async () => {
    await expectLines('resolving-a-voucher/resolve', ['GIFT-LMAD-KFNK 250 GBP'])
    const { data } = await readCurlAnswer('resolving-a-voucher/resolve')
    expect(data).toMatchObject({ status: 'redeemable', voucher: { current_balance: 250 } })
  })

  test('errors/read-an-error', async () => {
    const time = 'updated_since Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'
    const request = expect.stringMatching(/^request [\w-]{32,36}$/)
    // The client's message also contains the errors of the fields.
    await expectLines('errors/read-an-error', [expect.stringMatching(/^422 The request is not valid\./), time, request])
    const { lines } = await runWithNewToken('errors/read-an-error', 'sh')
    expect(lines[0]).toContain(' 422 ')
    expect(lines.join('\n')).toMatch(/^x-request-id: /im)
  })

  test('figures/sales-by-month', async () => {
    const sales = ['2026-09-01 GBP 3 265', '2026-10-01 EUR 1 320', '2026-10-01 GBP 1 60']
    await expectLines('figures/sales-by-month', sales)
    const answer = await readCurlAnswer('figures/sales-by-month')
    const shown = JSON.parse(/```json\n(\{\n.*?)```/s.exec(figuresGuide)?.[1] ?? '')
    const { asOf } = answer.data.tenant.figures
    const { remaining, resetsIn } = answer.extensions.cost
    shown.data.tenant.figures.asOf = asOf
    Object.assign(shown.extensions.cost, { remaining, resetsIn })
    expect(answer).toEqual(shown)
  })

  test('rate-limits/wait', async () => {
    const { url, expectWaits } = await startRefusingProxy()
    const references = (await readVouchers()).slice(0, 50).map(({ reference }) => reference)
    await Promise.all(
      extensions.map(async extension => {
        const { lines } = await runWithNewToken('rate-limits/wait', extension, { url: `${url}/${extension}` })
        if (extension === 'sh') expect(JSON.parse(lines.join('')).data).toHaveLength(50)
        else expect(lines.slice(0, 50), extension).toEqual(references)
      }),
    )
    expectWaits(extensions)
  })

  test('bulk-export/export', async () => {
    const ids = new Set((await readVouchers()).map(({ id }) => id))
    // The interrupted export is one attempt, so fewer answers are rejected.
    const { url, expectWaits } = await startRefusingProxy(interruptFirst, 4)
    await Promise.all(
      extensions.map(async extension => {
        // The sample for curl does not resume after an interruption, so it calls the service directly.
        const options = extension === 'sh' ? {} : { url: `${url}/${extension}` }
        const { lines, directory } = await runWithNewToken('bulk-export/export', extension, options)
        const copy = readFileSync(join(directory, 'vouchers.ndjson'), 'utf8').trim().split('\n')
        expect(new Set(copy.map(line => JSON.parse(line).id)), extension).toEqual(ids)
        if (extension === 'sh')
          expect(lines.map(line => Object.keys(JSON.parse(line)))).toEqual([['server_time'], ['end', 'count']])
        else expect(lines, extension).toEqual([expect.stringMatching(/^next bound \d{4}-.*Z$/)])
      }),
    )
    expect([...interruptedLanguages].sort()).toEqual([...printingLanguages].sort())
    expectWaits(printingLanguages)
    await expect(runWithNewToken('bulk-export/export', 'sh', { url: `${url}/sh` })).rejects.toThrow('curl')
    const shortened = await startProxy(forwardWithoutEnd)
    await expect(runWithNewToken('bulk-export/export', 'sh', { url: `${shortened}/sh` })).rejects.toThrow('not whole')
  })
})

test('the samples of a resolution accept a voucher without a balance', async () => {
  await database.platform`update purchased_voucher set initial_balance = null, current_balance = null, currency = null where id = 1`
  await expectLines('resolving-a-voucher/resolve', ['GIFT-LMAD-KFNK - -'])
})

test('the guide of figures has the correct document id of its sample', () => {
  const sample = readFileSync(join(samplesFolder, 'figures/sales-by-month.sh'), 'utf8')
  const [, query = ''] = /^query='(.*?)'$/ms.exec(sample) ?? []
  expect(/"documentId": "(.*?)"/.exec(figuresGuide)?.[1]).toBe(documentIdOf(query))
})

const readCopy = (directory: string) => JSON.parse(readFileSync(join(directory, 'copy.json'), 'utf8'))

test('paging/all-pages prints all vouchers, and keeping-in-step/changes and keeping-in-step/removals print later changes', async () => {
  const all = await readVouchers()
  const pages = await startRefusingProxy()
  const changes = await startRefusingProxy(forwardFirstPageOnly)
  const directories = await Promise.all(
    extensions.map(async extension => {
      const { lines } = await runWithNewToken('paging/all-pages', extension, { url: `${pages.url}/${extension}` })
      expect(lines, extension).toEqual(all.map(({ id, reference }) => `${id} ${reference}`))
      const directory = newDirectory()
      const first = runWithNewToken('keeping-in-step/changes', extension, {
        url: `${changes.url}/${extension}`,
        directory,
      })
      await expect(first, extension).rejects.toThrow(extension)
      const rest = await runWithNewToken('keeping-in-step/changes', extension, { directory })
      expect(rest.lines, extension).toEqual(
        all.slice(50).map(({ id, reference, balance }) => `${id} ${reference} ${balance}`),
      )
      const { vouchers } = readCopy(directory)
      expect(Object.keys(vouchers), extension).toEqual(all.map(({ id }) => String(id)).sort((a, b) => +a - +b))
      return { extension, directory }
    }),
  )
  pages.expectWaits(extensions)
  changes.expectWaits(extensions)
  const [clock] = await database.platform<{ now: string }[]>`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`
  await database.platform`update purchased_voucher set current_balance = 12.5 where id = 120`
  // The list of removals gets longer than one page.
  const deleted = await database.platform<{ id: number }[]>`
    delete from purchased_voucher where id > 100 and id <> 120 returning id`
  const removals = await startRefusingProxy()
  await Promise.all(
    directories.map(async ({ extension, directory }) => {
      expect((await runWithNewToken('keeping-in-step/changes', extension, { directory })).lines, extension).toEqual([
        '120 REF-120 12.5',
      ])
      expect(readCopy(directory).vouchers[120].current_balance, extension).toBe(12.5)
      const options = { url: `${removals.url}/${extension}`, args: [clock?.now ?? ''] }
      const removed = await runWithNewToken('keeping-in-step/removals', extension, options)
      const lines = deleted.map(({ id }) => `PURCHASED_VOUCHER ${id} DELETED`)
      expect(removed.lines.sort(), extension).toEqual(lines.sort())
    }),
  )
  removals.expectWaits(extensions)
})

/** The languages whose first export was interrupted. */
const interruptedLanguages = new Set<string>()

type Forward = (
  request: IncomingMessage,
  response: ServerResponse,
  language: string,
  answer: () => Promise<Response>,
) => Promise<unknown>

const forwardUnchanged: Forward = async (_request, response, _language, answer) => send(response, await answer())

/**
 * Answers of the rate limit and of proxies: the status and `Retry-After`. They are fewer than the eight attempts of the
 * client.
 */
const refusals: [status: number, retryAfter?: string][] = [
  [429, '1'],
  [503],
  [503, 'Wed, 21 Oct 2015 07:28:00 GMT'],
  [503, 'soon'],
  [502, '0'],
  [504, '-5'],
]

/**
 * Starts a proxy that rejects the first requests of each language.
 *
 * @param forward answers all later requests
 * @param most the number of `refusals` that each language gets
 * @returns the address of the proxy, and a function that expects a retry of each rejected request, at least a second
 *   later
 */
async function startRefusingProxy(forward = forwardUnchanged, most = refusals.length) {
  const first = refusals.slice(0, most)
  const times = new Map<string, number[]>(extensions.map(extension => [extension, []]))
  const url = await startProxy(async (request, response, language, answer) => {
    const refusal = first[(times.get(language)?.push(performance.now()) ?? 0) - 1]
    if (!refusal) return forward(request, response, language, answer)
    const [status, retryAfter] = refusal
    response.writeHead(status, { 'Content-Type': 'text/html', ...(retryAfter && { 'Retry-After': retryAfter }) })
    return response.end('<html><body>Come back later.</body></html>')
  })
  const expectWaits = (languages: readonly Extension[]) => {
    for (const language of languages) {
      const asked = (times.get(language) ?? []).slice(0, most + 1)
      const waits = asked.slice(1).map((time, index) => time - asked[index]!)
      expect(waits, language).toHaveLength(most)
      expect(Math.min(...waits), language).toBeGreaterThanOrEqual(1000)
    }
  }
  return { url, expectWaits }
}

/** Forwards the first page, and answers later pages with 401, as if the token were revoked. */
const forwardFirstPageOnly: Forward = async (request, response, _language, answer) => {
  if (!request.url?.includes('cursor=')) return send(response, await answer())
  response.writeHead(401, { 'Content-Type': 'application/json' })
  return response.end('{"message":"Unauthenticated."}')
}

/** Closes the first connection of each language in the middle of the answer. */
const interruptFirst: Forward = async (_request, response, language, answer) => {
  const whole = await answer()
  if (interruptedLanguages.has(language)) return send(response, whole)
  interruptedLanguages.add(language)
  const body = Buffer.from(await whole.arrayBuffer())
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  return response.write(body.subarray(0, body.length / 2), () => response.destroy())
}

/** Forwards an export without its last line, as a successful answer. */
const forwardWithoutEnd: Forward = async (_request, response, _language, answer) => {
  const lines = (await (await answer()).text()).split('\n')
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
  return response.end(lines.slice(0, -2).join('\n'))
}

async function send(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

/** Starts a proxy in front of the service. The first segment of a path is the language of the sample. */
async function startProxy(forward: Forward): Promise<string> {
  const server = createServer((request, response) => {
    const [, language = '', path = ''] = /^\/(\w+)(.*)$/.exec(request.url ?? '') ?? []
    const { accept = '*/*', authorization = '', 'content-type': type = '' } = request.headers
    const { method = '' } = request
    const answer = async () => {
      const headers = { accept, authorization, 'content-type': type }
      return fetch(origin + path, { method, headers, body: method === 'POST' ? await text(request) : null })
    }
    forward(request, response, language, answer).catch(() => response.destroy())
  })
  return `http://127.0.0.1:${await listen(server)}`
}
