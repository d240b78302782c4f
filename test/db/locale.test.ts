/** The locale of a database must not change how texts are compared and ordered (R27). */
import { expect, test } from 'vitest'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const unorderedNames = ['Ida', 'ida', 'Éclair', 'zeta', 'ILSE', 'Eva', 'Öl', 'oben']
const orderedNames = ['Eva', 'Éclair', 'Ida', 'ida', 'ILSE', 'oben', 'Öl', 'zeta']

test.each([
  // In Turkish, unlike English, the lower-case letter of I has no dot.
  ['Turkish', "locale_provider icu icu_locale 'tr' locale 'C'"],
  // In Estonian, unlike English, Z is ordered before T.
  ['Estonian', "locale_provider icu icu_locale 'et' locale 'C'"],
  ['of bytes, for which only ASCII has letters', "locale_provider libc locale 'C'"],
])('a locale that is %s', async (_, locale) => {
  const { build, client } = await startService({}, `${locale} encoding 'UTF8' template template0`)
  const tenantId = await build.tenant({ name: 'Group' })
  const { secret } = await build.token([whole(tenantId)])
  const currencies = ['TRY', 'USD', 'ZAR']
  for (const currency of currencies.toReversed()) {
    const sold = { currency, purchase_timestamp: '2026-03-03T12:00:00Z', product_id: 1 }
    await build.voucher(tenantId, { ...sold, initial_balance: 5, current_balance: 5, purchase_value: 5 })
  }
  for (const [at, title] of unorderedNames.entries()) {
    await build.tenant({ name: title, parent_id: tenantId })
    await build.product(tenantId, { title })
    await build.voucher(tenantId, { reference: `${title}-IX-${at}`, product_title: `${title}\u0085(ıiß ÖĞ)` })
    await build.customer(tenantId, { full_name: title, email: `${title}@example.com` })
  }

  for (const [at, name] of unorderedNames.entries()) {
    for (const voucher_reference of [`${name.toUpperCase()}-IX-${at}`, `\u00a0${name.toLowerCase()}-ix-${at}\ufeff`]) {
      const { status, body } = await client.resolve(secret, tenantId, { voucher_reference })
      expect([status, body.data?.voucher.reference], voucher_reference).toEqual([200, `${name}-IX-${at}`])
    }
  }

  const { tenant } = await client.read(
    secret,
    `{ tenant(id: ${tenantId}) {
       children { nodes { name } }
       figures(period: { from: "2026-03-03", to: "2026-03-03" }) {
         totals { currency } periods { sales { currency } } outstanding { currency } topProducts(by: PAID) { currency } }
       catalogVouchers(orderBy: { field: TITLE }) { nodes { name: title } }
       marketingSignups(orderBy: { field: NAME }) { nodes { name: fullName } }
       ${['ix', 'IX', 'öğ', 'SS', 'ß', 'Iİ', 'ida', 'IDA', 'öl', 'ös'].map(
         (text, at) => `found${at}: purchasedVouchers(filter: { text: "${text}" }) { edges { matchedFields } }`,
       )} } }`,
  )
  for (const list of ['children', 'catalogVouchers', 'marketingSignups'])
    expect(tenant[list].nodes, list).toEqual(orderedNames.map(name => ({ name })))
  const { totals, periods, outstanding, topProducts } = tenant.figures
  for (const list of [totals, periods[0].sales, outstanding, topProducts]) {
    expect(list.map(({ currency }: { currency: string | null }) => currency).filter(Boolean)).toEqual(currencies)
  }
  const counts = Array.from({ length: 10 }, (_, at) => tenant[`found${at}`].edges.length)
  expect(counts).toEqual([8, 8, 8, 0, 0, 0, 2, 2, 1, 0])
})
