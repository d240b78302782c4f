import { column, nullable, type RowOf } from '../../db/row/column.ts'
import { inRange, sameText } from '../search/field.ts'
import { byNullable } from '../search/order.ts'
import { searchedText } from '../search/text-field.ts'
import { defineResource } from './resource.ts'

const columns = {
  id: column('id', 'bigint', 'The numeric id, as in v1.'),
  tenantId: column('tenant_id', 'bigint'),
  email: nullable('email', 'text', 'E-mail address.'),
  marketingOpted: column(
    'marketing_opted',
    'boolean',
    'True when the customer consents to marketing now. The list has no others.',
  ),
  consentedAt: nullable('consented_at', 'instant', 'When the customer consented.'),
  consentSource: nullable('consent_source', 'text', 'Where the customer consented.'),
  createdAt: column('created_at', 'instant', 'When the customer was created.'),
  updatedAt: column('updated_at', 'instant', 'When the record was last changed.'),
  forename: nullable('forename', 'text', 'Given name.'),
  surname: nullable('surname', 'text', 'Family name.'),
  fullName: nullable('full_name', 'text', 'Full name.'),
  phoneNumber: nullable('phone_number', 'text', 'Telephone number.'),
  address1: nullable('address_1', 'text', 'First line of the address.'),
  address2: nullable('address_2', 'text', 'Second line of the address.'),
  town: nullable('town', 'text', 'Town.'),
  city: nullable('city', 'text', 'City.'),
  county: nullable('county', 'text', 'County.'),
  country: nullable('country', 'text', 'Country.'),
  countryiso2: nullable('countryiso2', 'text', 'ISO 3166-1 alpha-2 country code.'),
  postcode: nullable('postcode', 'text', 'Postcode.'),
}

/** A customer who consents to marketing now (R23). Personal data. */
type MarketingSignup = RowOf<typeof columns>

const byConsent = byNullable('consented_at', 'timestamptz', 'By `consentedAt`.')

/** Marketing signups (contract, operations 6 and 7): customers who consent to marketing now (R23). */
export const signups = defineResource<MarketingSignup>({
  noun: 'marketing signup',
  description: 'A customer who consents to marketing now. Personal data.',
  name: 'customer',
  permissions: ['export_customer_information'],
  only: 'marketing_opted',
  personalData: true,
  columns,
  search: {
    filters: {
      consented: inRange('instants', byConsent, 'Customers who consented in this range.'),
      source: sameText('consent_source', 'Customers whose `consentSource` is this text.'),
      text: searchedText('Customers with this text in their names or in their e-mail address.', {
        expression: 'words',
        permission: 'export_customer_information',
        fields: {
          FULL_NAME: { property: 'fullName', description: 'The `fullName`.' },
          FORENAME: { property: 'forename', description: 'The `forename`.' },
          SURNAME: { property: 'surname', description: 'The `surname`.' },
          EMAIL: { property: 'email', description: 'The `email`.' },
        },
      }),
    },
    orders: {
      CONSENTED_AT: byConsent,
      NAME: byNullable('name', 'text', 'By `fullName`, or by `forename` and `surname` when there is none.'),
    },
  },
})
