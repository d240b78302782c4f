import type { FastifyReply } from 'fastify'
import type { Endpoint } from '../../domain/event/endpoint.ts'
import { webhookSecret } from '../../domain/event/secret.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { type AdminContext, sendPage } from '../context.ts'
import { webhookPath } from './parts.tsx'

/** Answers with the present secret of an endpoint. */
export const sendSecret = (
  { webhooks }: AdminContext,
  reply: FastifyReply,
  title: string,
  { id, secretVersion, formerSigns }: Endpoint,
): FastifyReply =>
  sendPage(
    reply,
    <Layout title={title} section="tokens" narrow>
      <p class="warning">
        Copy the secret now, and hand it over through a safe channel. It is shown only once.
        {formerSigns && ' For a day the former secret also signs, so that the receiver can switch.'}
      </p>
      <Section id="secret-heading" title="Secret">
        <p class="hint">
          The receiver checks with it that an event is from this service, by the specification Standard Webhooks.
        </p>
        <TextToCopy id="secret" text={webhookSecret(webhooks.key, id, secretVersion)} />
      </Section>
      <p>
        <ButtonLink kind="primary" href={webhookPath(id)} label="I have copied it: go to the webhook" />
      </p>
    </Layout>,
  )
