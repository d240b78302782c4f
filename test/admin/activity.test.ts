import { expect, test } from 'vitest'
import { onOneDay } from '../support/on-one-day.ts'
import { startService } from '../support/service.ts'
import { readTableRows, signIn } from './support.ts'

const { database, build, client } = await startService()
const { platform } = database
const browser = await signIn(client, database)

const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const spoken = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' })

const addRequestCount = (tokenId: number, day: string, operation: string, status: number, requests: number) => platform`
  insert into gateway.request_count (token_id, day, operation, status, requests)
  values (${tokenId}, ${day}::text::date, ${operation}, ${status}, ${requests})`

test('shows the requests of a token by day, outcome and operation, as charts and tables', () =>
  onOneDay(async () => {
    const { id } = await build.token([])
    const [today, before, old] = [dayAgo(0), dayAgo(6), dayAgo(89)]
    await addRequestCount(id, today, 'ListTenants', 200, 1200)
    await addRequestCount(id, today, 'GraphQL', 200, 4)
    await addRequestCount(id, today, 'ListTenants', 429, 3)
    await addRequestCount(id, before, 'ResolveVoucher', 503, 2)
    await addRequestCount(id, before, 'unknown', 404, 5)
    await addRequestCount(id, old, 'ListTenants', 200, 10)
    await addRequestCount(id, dayAgo(90), 'ListTenants', 200, 7777)
    const { html, text, status } = await browser.get(`/admin/tokens/${id}`)
    expect(status).toBe(200)
    expect(text).toContain('Today (UTC) 1,207 Last 7 days 1,214 Last 90 days 1,224')
    const titles = [...html.matchAll(/<g><title>([^<]*)<\/title>/g)].map(([, title]) => title)
    expect(titles).toEqual([
      `${spoken(old)}: 10 succeeded, 0 rejected, 0 failed`,
      `${spoken(before)}: 0 succeeded, 5 rejected, 2 failed`,
      `${spoken(today)}: 1,204 succeeded, 3 rejected, 0 failed`,
      `${spoken(old)}: 10 List tenants`,
      `${spoken(before)}: 2 Resolve voucher, 5 Unknown operation`,
      `${spoken(today)}: 1,203 List tenants, 4 GraphQL`,
    ])
    const rows = readTableRows(html)
    for (const row of [
      [spoken(today), '1,204', '3', '0'],
      ['Day', 'List tenants', 'Resolve voucher', 'GraphQL', 'Unknown operation'],
      ['Operation', '200', '404', '429', '503', 'Total'],
      ['List tenants', '1,210', '0', '3', '0', '1,213'],
    ]) {
      expect(rows).toContainEqual(row)
    }
    expect(html).toContain(
      `aria-label="Requests by day and outcome. In 90 days: 1,214 succeeded, 8 rejected, 2 failed. ` +
        `Most on ${spoken(today)}: 1,204 succeeded, 3 rejected, 0 failed."`,
    )
  }))

test('the height of a bar is proportional to the requests of its day, and outcomes are stacked in the bar', () =>
  onOneDay(async () => {
    const { id } = await build.token([])
    await addRequestCount(id, dayAgo(0), 'ListTenants', 200, 60)
    await addRequestCount(id, dayAgo(0), 'ListTenants', 403, 40)
    const plot = (await browser.get(`/admin/tokens/${id}`)).html.split('<svg class="plot"')[1] ?? ''
    const bars = plot.matchAll(/<rect fill="var\(--([\w-]+)\)" x="[\d.]+" width="\d+" y="([\d.]+)" height="([\d.]+)"/g)
    // The plot is 150 high for 100 requests, and its top margin is 12.
    const shown = [...bars].map(([, color, y, height]) => [color, Number(y), Number(height)])
    expect(shown).toEqual([
      ['plot-first', 12 + 60, 90],
      ['rejected', 12, 60],
    ])
  }))

test('shows errors and their reasons, the latest first', () =>
  onOneDay(async () => {
    const { id } = await build.token([])
    const addError = (operation: string, reason: string, requests: number, lastAt: string, day = dayAgo(0)) => platform`
    insert into gateway.request_error (token_id, day, operation, code, reason, requests, last_at)
    values (${id}, ${day}::text::date, ${operation}, 'FORBIDDEN', ${reason}, ${requests}, ${lastAt}::text::timestamptz)`
    await addError('ListMarketingSignups', 'This token lacks <b>it</b>.', 1000, `${dayAgo(0)}T01:02:03Z`)
    await addError('ListMarketingSignups', 'This token lacks <b>it</b>.', 204, `${dayAgo(3)}T01:02:03Z`, dayAgo(3))
    await addError('GraphQL', 'Not for this tenant.', 1, `${dayAgo(0)}T02:00:00Z`)
    const { html } = await browser.get(`/admin/tokens/${id}`)
    const errors = html.split('id="errors"')[1]?.split('</section>')[0] ?? ''
    expect(readTableRows(errors)).toEqual([
      ['Reason', 'Operation', 'Requests', 'Last'],
      ['Not for this tenant. FORBIDDEN', 'GraphQL', '1', `${spoken(dayAgo(0))}, 02:00 UTC`],
      ['This token lacks <b>it</b>. FORBIDDEN', 'List marketing signups', '1,204', `${spoken(dayAgo(0))}, 01:02 UTC`],
    ])
  }))
