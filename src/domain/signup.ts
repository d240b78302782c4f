import type { Sql } from '../db/connect.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, rangeArguments, toPage } from './page.ts'

/** A customer whose consent to marketing holds now (R23). Personal data. */
export interface MarketingSignup {
  id: number
  tenantId: number
  email: string | null
  marketingOpted: boolean
  consentedAt: Instant | null
  consentSource: string | null
  createdAt: Instant
  updatedAt: Instant
  forename: string | null
  surname: string | null
  fullName: string | null
  phoneNumber: string | null
  address1: string | null
  address2: string | null
  town: string | null
  city: string | null
  county: string | null
  country: string | null
  countryiso2: string | null
  postcode: string | null
}

export const marketingSignupList = (tenantId: number): ListIdentity => ({ name: 'marketingSignups', tenantId })

const columns = (sql: Sql) => sql`
  id, tenant_id as "tenantId", email, marketing_opted as "marketingOpted", consented_at as "consentedAt",
  consent_source as "consentSource", created_at as "createdAt", updated_at as "updatedAt", forename, surname,
  full_name as "fullName", phone_number as "phoneNumber", address_1 as "address1", address_2 as "address2",
  town, city, county, country, countryiso2, postcode`

/** @returns a page of the tenant's marketing signups (contract, operation 6) */
export async function listSignups(sql: Sql, tenantId: number, range: Range): Promise<Page<MarketingSignup>> {
  return toPage(
    range,
    await sql<(MarketingSignup & { serverTime: Instant })[]>`
      select /* signup.list */ gateway.noted_horizon() as "serverTime", ${columns(sql)}
      from (values (1)) one left join gateway.marketing_signup_page(${tenantId}::bigint, ${rangeArguments(sql, range)}) page on true`,
  )
}

/** @returns how many marketing signups the whole list holds */
export async function countSignups(sql: Sql, tenantId: number, updatedSince: Instant | null): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select /* signup.count */ count(*) from customer
    where tenant_id = ${tenantId} and marketing_opted
      and updated_at >= ${updatedSince ?? '-infinity'}::text::timestamptz`
  return row?.count ?? 0
}

/** @returns the tenant's own marketing signup of this customer id, or null (R20, R23; contract, operation 7) */
export async function findSignup(sql: Sql, tenantId: number, id: number): Promise<MarketingSignup | null> {
  const [row] = await sql<MarketingSignup[]>`
    select /* signup.find */ ${columns(sql)} from customer where tenant_id = ${tenantId} and id = ${id} and marketing_opted`
  return row ?? null
}
