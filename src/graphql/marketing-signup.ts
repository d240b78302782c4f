import { orNotFound } from '../domain/errors.ts'
import { marketingSignupList, type MarketingSignup as Row } from '../domain/signup.ts'
import { builder } from './builder.ts'
import { pageComplexity, recordComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import { readRecordId, recordKey } from './global-id.ts'
import { permissionsFor } from './node.ts'
import { oneOperation } from './policy.ts'
import { Tenant } from './tenant.ts'

const MarketingSignup = builder.node(builder.objectRef<Row>('MarketingSignup'), {
  description: 'A customer whose consent to marketing holds now. Personal data.',
  id: { resolve: recordKey, description: 'The global id.' },
  fields: t => ({
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    email: t.exposeString('email', { nullable: true, description: 'E-mail address.' }),
    marketingOpted: t.exposeBoolean('marketingOpted', { description: 'Whether the customer consents: always true.' }),
    consentedAt: t.expose('consentedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the customer consented.',
    }),
    consentSource: t.exposeString('consentSource', { nullable: true, description: 'Where the customer consented.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the customer was first known.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the record was last changed.' }),
    forename: t.exposeString('forename', { nullable: true, description: 'Given name.' }),
    surname: t.exposeString('surname', { nullable: true, description: 'Family name.' }),
    fullName: t.exposeString('fullName', { nullable: true, description: 'Whole name, as the customer writes it.' }),
    phoneNumber: t.exposeString('phoneNumber', { nullable: true, description: 'Telephone number.' }),
    address1: t.exposeString('address1', { nullable: true, description: 'First line of the address.' }),
    address2: t.exposeString('address2', { nullable: true, description: 'Second line of the address.' }),
    town: t.exposeString('town', { nullable: true, description: 'Town.' }),
    city: t.exposeString('city', { nullable: true, description: 'City.' }),
    county: t.exposeString('county', { nullable: true, description: 'County.' }),
    country: t.exposeString('country', { nullable: true, description: 'Country.' }),
    countryiso2: t.exposeString('countryiso2', { nullable: true, description: 'ISO 3166-1 alpha-2 country code.' }),
    postcode: t.exposeString('postcode', { nullable: true, description: 'Postcode.' }),
  }),
})

builder.objectFields(Tenant, t => ({
  marketingSignups: t.connection(
    {
      type: MarketingSignup,
      nullable: true,
      description:
        "The tenant's customers whose consent holds now, by `updatedAt`, then id. Needs `export_customer_information`.",
      policy: { operations: oneOperation, permissions: permissionsFor.MarketingSignup },
      complexity: pageComplexity,
      args: { updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }) },
      resolve: (tenant, args, context) =>
        readConnection(context, marketingSignupList(tenant.id), args, {
          page: range => context.loaders.signups.pages.load({ tenantId: tenant.id, range }),
          count: updatedSince => context.loaders.signups.counts.load({ tenantId: tenant.id, updatedSince }),
        }),
    },
    { name: 'MarketingSignupConnection' },
    { name: 'MarketingSignupEdge' },
  ),
  marketingSignup: t.field({
    type: MarketingSignup,
    nullable: true,
    description: "One of the tenant's customers whose consent holds now. Needs `export_customer_information`.",
    policy: { operations: oneOperation, permissions: permissionsFor.MarketingSignup },
    complexity: recordComplexity,
    args: { id: t.arg.id({ required: true, description: 'Its numeric or its global id.' }) },
    resolve: ({ id: tenantId }, args, { loaders }) => {
      const id = readRecordId('MarketingSignup', tenantId, args.id)
      return loaders.signups.records.load({ tenantId, id }).then(orNotFound('marketing signup'))
    },
  }),
}))
