import { maxEndpoints } from '../domain/event/endpoint.ts'
import { callsLeft, type RateWindow, secondsLeft } from '../domain/rate/rate.ts'
import { permissions } from '../domain/token/permission.ts'
import type { TenantGrant, Token } from '../domain/token/token.ts'
import { builder, enumValues } from './builder.ts'
import { unitComplexity } from './complexity.ts'
import { Tenant } from './tenant.ts'
import { readWebhooks, Webhook } from './webhook.ts'

const Permission = builder.enumType('Permission', {
  description: 'A permission of a token.',
  values: enumValues(permissions),
})

const ViewerTenant = builder.objectRef<TenantGrant>('ViewerTenant').implement({
  description: 'A tenant that the token is authorised for.',
  fields: t => ({
    tenant: t.field({ type: Tenant, description: 'The tenant.', resolve: grant => ({ id: grant.tenantId }) }),
    withDescendants: t.exposeBoolean('withDescendants', {
      description: 'True when the token is also authorised for all tenants below it.',
    }),
  }),
})

const ViewerRate = builder.objectRef<RateWindow & { limit: number }>('ViewerRate').implement({
  description: "The rate limit of this token at the caller's address.",
  fields: t => ({
    limit: t.exposeInt('limit', { description: 'The operations allowed in a window of 60 seconds.' }),
    remaining: t.int({
      description: 'Operations left in this window.',
      resolve: window => callsLeft(window.limit, window),
    }),
    resetsIn: t.int({
      description: 'Seconds until the window resets.',
      resolve: secondsLeft,
    }),
  }),
})

const Viewer = builder.objectRef<Token>('Viewer').implement({
  description: 'The token of this request.',
  fields: t => ({
    name: t.exposeString('name', { description: 'The name of the token.' }),
    permissions: t.expose('permissions', { type: [Permission], description: 'The permissions of the token.' }),
    tenants: t.expose('tenants', {
      type: [ViewerTenant],
      description: 'The tenants that the token is authorised for, as they were granted.',
      complexity: { field: 1, multiplier: 100 },
      policy: { lengthOf: 'tenants' },
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token expires; null when it does not expire.',
    }),
    webhooks: t.field({
      type: [Webhook],
      description: 'Its webhooks.',
      complexity: { field: unitComplexity, multiplier: maxEndpoints },
      resolve: (_, _args, { loaders }) => loaders.get(readWebhooks),
    }),
    rate: t.field({
      type: ViewerRate,
      description: 'Its rate limit.',
      resolve: (_, _args, { caller }) => ({ limit: caller.rate.limit, ...caller.window }),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({ type: Viewer, description: 'The token of this request.', resolve: (_, _args, { caller }) => caller.token }),
)
