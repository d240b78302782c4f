// An administrator opens the dashboard with a token that is made for that.
import type { FastifyReply } from 'fastify'
import { badInput } from '../../domain/errors.ts'
import { listRootTenants } from '../../domain/tenant/tree.ts'
import { createToken } from '../../domain/token/lifecycle.ts'
import type { Permission } from '../../domain/token/permission.ts'
import type { TenantGrant } from '../../domain/token/token.ts'
import { adminPath, assetsPath, dashboardPath } from '../../http/paths.ts'
import { FieldGroup } from '../components/field.tsx'
import { formatCount } from '../components/format.tsx'
import { IdempotencyField, readIdempotencyKey } from '../components/idempotency-field.tsx'
import { Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, getSignedIn, type Handler, redirectWithFlash, sendPage } from '../context.ts'
import { findForm, formBody } from '../form-body.ts'
import { loadPicker } from '../tenant-picker/load.ts'
import { readPicker } from '../tenant-picker/state.ts'
import { PickerForm, TenantPicker } from '../tenant-picker/tenant-picker.tsx'
import { tokensPath } from '../tokens/parts.tsx'

const path = `${adminPath}/dashboard`

/** The hours that the token is valid, unless the session ends before. */
const hours = 8

/** Operations a minute: a view of all figures counts as some 25 (R28), and people look at several in a minute. */
const rate = 1200

/** GET /admin/dashboard */
export const showOpen: Handler = async ({ sql }, request, reply) => {
  const form = findForm(request)
  return sendPage(
    reply,
    <Layout title="Open the dashboard" section="dashboard" narrow>
      <p>
        The dashboard shows sales, balances and vouchers. It reads them with a token that is made for you: it only
        reads, it ends when you sign out and after {hours} hours at the latest, and it is among the{' '}
        <a href={tokensPath}>tokens</a>, where it can be revoked before.
      </p>
      <PickerForm path={path} submitLabel="Open the dashboard">
        <IdempotencyField />
        <FieldGroup legend="Permissions">
          <div class="option">
            <input
              type="checkbox"
              id="marketing"
              name="marketing"
              value="yes"
              checked={form !== null && includesMarketing(form)}
            />
            <label for="marketing">
              Include figures of marketing
              <span class="hint">
                The token may then read the personal data of customers who opted in to marketing.
              </span>
            </label>
          </div>
        </FieldGroup>
        <details open={form !== null}>
          <summary>Only some tenants: without a choice, the dashboard shows all of them</summary>
          <TenantPicker picker={await loadPicker(sql, form)} />
        </details>
        <p>
          <button type="submit">Open the dashboard</button>
        </p>
      </PickerForm>
    </Layout>,
  )
}

/**
 * POST /admin/dashboard: answers with a page that takes the token to the dashboard. Redirects to a new form when the same
 * form has already created its token.
 */
export const open: Handler = async (context, request, reply) => {
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showOpen(context, request, reply)
  const input = {
    name: `Dashboard of ${getSignedIn(request).email}`.slice(0, 200),
    contact: null,
    rateLimit: context.config.rateLimitPerMinute < rate ? rate : null,
    permissions: permissionsFor(form),
    tenants: state.grants.length > 0 ? state.grants : await grantAll(context),
    expiresAt: new Date(Date.now() + hours * 3_600_000),
    sessionId: request.session.sessionId,
  }
  const { secret } = await createToken(context.sql, actorOf(request), input, readIdempotencyKey(form))
  return secret === null ? redirectWithFlash(reply, path, alreadyOpened) : sendToken(reply, secret)
}

const alreadyOpened =
  'This form has already opened the dashboard. Its token cannot be shown again: open the dashboard once more for a new one.'

/** Returns whether the token may read personal data, which the figures of marketing need. */
const includesMarketing = (form: URLSearchParams) => form.get('marketing') === 'yes'

const permissionsFor = (form: URLSearchParams): Permission[] => [
  'view_vouchers',
  'view_orders',
  ...(includesMarketing(form) ? (['export_customer_information'] as const) : []),
]

/** The most root tenants for which a token is created without a choice. */
const maxRoots = 2000

/** @throws `BAD_USER_INPUT` with the error of `tenants` when there are none, or too many */
async function grantAll({ sql }: AdminContext): Promise<TenantGrant[]> {
  const roots = await listRootTenants(sql, maxRoots + 1)
  if (roots.length === 0) throw badInput({ tenants: ['There are no tenants yet: the platform creates them.'] })
  if (roots.length > maxRoots)
    throw badInput({ tenants: [`There are more than ${formatCount(maxRoots)} trees of tenants: choose some.`] })
  return roots.map(tenantId => ({ tenantId, withDescendants: true }))
}

/**
 * Answers with a page whose script stores the token for the browser tab, and replaces this page by the dashboard: the
 * token is in no address, no cache and no history.
 */
const sendToken = (reply: FastifyReply, secret: string) =>
  sendPage(
    reply.code(201),
    <Layout title="Opening the dashboard" section="dashboard" narrow>
      <p id="hand-over" data-token={secret} data-path={dashboardPath} role="status">
        The dashboard opens …
      </p>
      <noscript>
        <p class="warning">The dashboard needs JavaScript. Allow it for this site, then open the dashboard again.</p>
      </noscript>
      <script src={`${assetsPath}/open-dashboard.js`} type="module" />
    </Layout>,
  )
