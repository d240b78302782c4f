import type { Sql } from '../db/connect.ts'
import { packed } from '../db/packed.ts'
import type { ListIdentity } from './cursor.ts'
import type { Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

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

const signupRow = packed<MarketingSignup>({
  id: ['id', 'integer'],
  tenantId: ['tenant_id', 'integer'],
  email: ['email', 'text'],
  marketingOpted: ['marketing_opted', 'boolean'],
  consentedAt: ['consented_at', 'instant'],
  consentSource: ['consent_source', 'text'],
  createdAt: ['created_at', 'instant'],
  updatedAt: ['updated_at', 'instant'],
  forename: ['forename', 'text'],
  surname: ['surname', 'text'],
  fullName: ['full_name', 'text'],
  phoneNumber: ['phone_number', 'text'],
  address1: ['address_1', 'text'],
  address2: ['address_2', 'text'],
  town: ['town', 'text'],
  city: ['city', 'text'],
  county: ['county', 'text'],
  country: ['country', 'text'],
  countryiso2: ['countryiso2', 'text'],
  postcode: ['postcode', 'text'],
})

/** @returns a page of the tenant's marketing signups (contract, operation 6) */
export async function listSignups(sql: Sql, tenantId: number, range: Range): Promise<Page<MarketingSignup>> {
  const [found] = await sql`
    select /* signup.list */ string_agg(row, '') from (
      select ${signupRow.select(sql)} as row from customer
      where tenant_id = ${tenantId} and marketing_opted and ${within(sql, range)}
    ) page`.raw()
  return toPage(range, signupRow.read(found?.[0]))
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
  const [found] = await sql`
    select /* signup.find */ ${signupRow.select(sql)} as row from customer where tenant_id = ${tenantId} and id = ${id} and marketing_opted`.raw()
  return signupRow.read(found?.[0])[0] ?? null
}
