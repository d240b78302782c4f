import { readdirSync, readFileSync } from 'node:fs'
import { millisecondsPerDay } from '../domain/value/date.ts'

/**
 * The folder of the examples in `packages/pages`. Each file has one example, and its name begins with the number of the
 * tab.
 */
const folder = new URL('../../dist/graphiql-examples/', import.meta.url)

const day = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** A voucher of the service in which the examples run. */
export interface ExampleVoucher {
  tenantId: number
  voucherReference: string
}

/** Returns the values of the variables. @param now milliseconds since 1970 */
const valuesAt = (now: number, voucher: ExampleVoucher | null): Record<string, unknown> => ({
  tenant: String(voucher?.tenantId ?? 1),
  reference: voucher?.voucherReference ?? 'the reference of a voucher',
  currency: 'GBP',
  since: `${day(now - 30 * millisecondsPerDay)}T00:00:00Z`,
  today: day(now),
  /** The first day of a period of twelve calendar months that ends with the present month. */
  start: `${day(now - 334 * millisecondsPerDay).slice(0, 8)}01`,
  from: day(now),
  to: day(now + 60 * millisecondsPerDay),
  text: 'tea',
  title: 'champagne',
  yearAgo: `${day(now - 365 * millisecondsPerDay)}T00:00:00Z`,
})

/**
 * Returns the tabs that GraphiQL opens when it is started for the first time.
 *
 * @param voucher the voucher to resolve; null for a placeholder in the variables
 */
export function createExampleTabs(voucher: ExampleVoucher | null) {
  const values = valuesAt(Date.now(), voucher)
  return readdirSync(folder)
    .sort()
    .map(name => {
      const query = readFileSync(new URL(name, folder), 'utf8')
      const names = [...query.matchAll(/\$(\w+):/g)].map(([, variable = '']) => variable)
      const variables = Object.fromEntries(names.map(variable => [variable, values[variable] ?? null]))
      return { query, variables: JSON.stringify(variables, null, 2) }
    })
}
