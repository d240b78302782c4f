import type { Instant } from './instant.ts'
import { defineResource } from './resource.ts'

/** A customer who consents to marketing now (R23). Personal data. */
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

/** Marketing signups (contract, operations 6 and 7): customers who consent to marketing now (R23). */
export const signups = defineResource<MarketingSignup>({
  type: 'MarketingSignup',
  name: 'signup',
  table: 'customer',
  permissions: ['export_customer_information'],
  only: 'marketing_opted',
  personalData: true,
  columns: {
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
  },
})
