import type { Fragment, Sql } from '../../db/connect.ts'
import { badInput, GatewayError } from '../errors.ts'
import type { Token } from '../token/token.ts'
import type { Figures, FiguresRequest, Selection } from './figure.ts'
import { grantedTenants } from './granted.ts'
import { instantText, periodRelations } from './interval.ts'
import { timeZoneMessage } from './period.ts'
import { productRelations, topProductsJson } from './products.ts'
import { consentsJson, periodsJson, saleRelation, totalsJson } from './sales.ts'
import { expiringJson, outstandingJson, statusJson, stockRelations } from './stock.ts'

/**
 * Reads the selected figures in one statement, so that all are of one snapshot. A relation that no figure uses is not
 * read.
 *
 * `asOf` is the watermark that the follower has reached (`sql/0017`): every change that was stamped before it is in the
 * figures.
 *
 * @param token whose grants decide which tenants below count
 * @throws `BAD_USER_INPUT` with the error of `timeZone` when PostgreSQL does not know it: its version of the tz
 *   database may differ
 */
export async function readFigures(
  sql: Sql,
  token: Token,
  request: FiguresRequest,
  selection: Selection,
): Promise<Figures> {
  const none = sql`select '[]'::json`
  const when = (selected: boolean, query: Fragment): Fragment => (selected ? query : none)
  const { periods, totals, consents, outstanding, status, expiring, topProducts } = selection
  const found = sql<Figures[]>`
    with /* figures.read */ recursive ${grantedTenants(sql, token, request)},
    ${periodRelations(sql, request)}, ${saleRelation(sql)}, ${stockRelations(sql, selection)}, ${productRelations(sql)}
    select ${instantText(sql, sql`as_of`)} as "asOf", (select name from zone) as "timeZone",
           (${when(periods, periodsJson(sql))}) as periods,
           (${when(totals, totalsJson(sql))}) as totals,
           (${when(consents, consentsJson(sql))}) as consents,
           (${when(outstanding, outstandingJson(sql))}) as outstanding,
           (${when(status, statusJson(sql))}) as status,
           (${when(expiring.length > 0, expiringJson(sql, expiring))}) as expiring,
           (${when(topProducts.length > 0, topProductsJson(sql, topProducts))}) as "topProducts"
    from gateway.follower where as_of is not null`
  const [figures] = await found.catch(error => {
    throw request.timeZone !== null && isInvalidValue(error) ? badInput({ timeZone: [timeZoneMessage] }) : error
  })
  if (!figures) {
    throw new GatewayError('UNAVAILABLE', 'The figures are being counted. Try again in a minute.', { retryAfter: 60 })
  }
  return figures
}

/** Returns whether PostgreSQL reports a parameter that it does not know: of this statement, the name of a time zone. */
const isInvalidValue = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '22023'
