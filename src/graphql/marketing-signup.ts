import { signups } from '../domain/signup.ts'
import { builder } from './builder.ts'
import { addResource } from './resource.ts'

const MarketingSignup = addResource(signups, 'A customer who consents to marketing now. Personal data.')

builder.objectFields(MarketingSignup, t => ({
  email: t.exposeString('email', { nullable: true, description: 'E-mail address.' }),
  marketingOpted: t.exposeBoolean('marketingOpted', { description: 'Whether the customer consents: always true.' }),
  consentedAt: t.expose('consentedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When the customer consented.',
  }),
  consentSource: t.exposeString('consentSource', { nullable: true, description: 'Where the customer consented.' }),
  createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the customer was created.' }),
  updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the record was last changed.' }),
  forename: t.exposeString('forename', { nullable: true, description: 'Given name.' }),
  surname: t.exposeString('surname', { nullable: true, description: 'Family name.' }),
  fullName: t.exposeString('fullName', { nullable: true, description: 'Full name.' }),
  phoneNumber: t.exposeString('phoneNumber', { nullable: true, description: 'Telephone number.' }),
  address1: t.exposeString('address1', { nullable: true, description: 'First line of the address.' }),
  address2: t.exposeString('address2', { nullable: true, description: 'Second line of the address.' }),
  town: t.exposeString('town', { nullable: true, description: 'Town.' }),
  city: t.exposeString('city', { nullable: true, description: 'City.' }),
  county: t.exposeString('county', { nullable: true, description: 'County.' }),
  country: t.exposeString('country', { nullable: true, description: 'Country.' }),
  countryiso2: t.exposeString('countryiso2', { nullable: true, description: 'ISO 3166-1 alpha-2 country code.' }),
  postcode: t.exposeString('postcode', { nullable: true, description: 'Postcode.' }),
}))
