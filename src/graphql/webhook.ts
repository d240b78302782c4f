/** The webhooks of the viewer, so that a partner can see whether events arrive. */
import { type Endpoint, endpointState, listEndpoints } from '../domain/event/endpoint.ts'
import { builder } from './builder.ts'
import type { Reader } from './loaders.ts'

const WebhookState = builder.enumType('WebhookState', {
  description: 'Whether events are sent to a webhook.',
  values: {
    ACTIVE: { value: 'active', description: 'Events are sent.' },
    FAILING: { value: 'failing', description: 'The last event was not delivered. It is repeated.' },
    PAUSED: { value: 'paused', description: 'Nothing is sent until an administrator resumes it.' },
    ENDED: { value: 'ended', description: 'The token has ended.' },
  } as const,
})

const WebhookPauseReason = builder.enumType('WebhookPauseReason', {
  description: 'Why a webhook is paused.',
  values: {
    ADMINISTRATOR: { value: 'administrator', description: 'An administrator paused it.' },
    FAILING: { value: 'failing', description: 'Nothing was delivered for five days.' },
    GONE: { value: 'gone', description: 'The receiver answered 410.' },
  } as const,
})

/** A webhook of the token. */
export const Webhook = builder.objectRef<Endpoint>('Webhook').implement({
  description: 'A URL to which events of the lists of the token are sent.',
  fields: t => ({
    url: t.exposeString('url', { description: 'The URL.' }),
    state: t.field({ type: WebhookState, description: 'Whether events are sent.', resolve: endpointState }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'The first failure after the last success; null when it does not fail.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was paused; null when it is not.',
    }),
    pauseReason: t.expose('pauseReason', {
      type: WebhookPauseReason,
      nullable: true,
      description: 'Why it is paused; null when it is not.',
    }),
    deliveredTo: t.expose('deliveredTo', {
      type: 'DateTime',
      description: 'All changes up to this instant were delivered. It moves on every ten seconds while nothing waits.',
    }),
  }),
})

/** Reads the webhooks of the token, once for all fields of a request. */
export const readWebhooks = ({ sql, caller }: Reader): Promise<Endpoint[]> => listEndpoints(sql, caller.token.id)
